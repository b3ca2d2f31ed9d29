package basicauth

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"golang.org/x/crypto/bcrypt"
)

const (
	// maxCost takes a quarter of a second; each more would double that.
	maxCost = 12
	// penalty keeps others who are not known yet waiting after a wrong password: more
	// than the checking itself, so that guessing leaves most of the processor alone.
	penalty = 500 * time.Millisecond
	// patience is how long one waits for one's turn.
	patience = 2 * time.Second
)

// Answers to a name and password.
var (
	ErrRefused = errors.New("unknown name or wrong password")
	ErrBusy    = errors.New("too many passwords are being checked")
)

// Users are those of a file. Its methods may be called from any goroutine.
type Users struct {
	hashes map[string][]byte
	decoy  []byte // for names that are not there
	turn   chan struct{}

	mu     sync.Mutex
	salt   [32]byte
	proven map[string][sha256.Size]byte // digests of passwords that were right, by name
}

// Load reads lines of the form name:hash, as `htpasswd -B` writes them. Empty lines
// and those that begin with # mean nothing.
func Load(file string) (*Users, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		if e, ok := errors.AsType[*os.PathError](err); ok {
			err = e.Err
		}

		return nil, err
	}

	return Parse(string(text))
}

// Parse is Load for a text.
func Parse(text string) (*Users, error) {
	u := &Users{hashes: map[string][]byte{}, turn: make(chan struct{}, 1), proven: map[string][sha256.Size]byte{}}
	_, _ = rand.Read(u.salt[:]) // never fails, by its documentation
	n, most := 0, bcrypt.MinCost
	for line := range strings.Lines(text) {
		n++
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, hash, _ := strings.Cut(line, ":")
		cost, err := bcrypt.Cost([]byte(hash))
		switch {
		case name == "" || err != nil:
			return nil, fmt.Errorf("line %d is not NAME:HASH with a bcrypt hash, as htpasswd -B writes it", n)
		case cost > maxCost:
			return nil, fmt.Errorf("line %d has a bcrypt cost of %d, and at most %d can be borne", n, cost, maxCost)
		case u.hashes[name] != nil:
			return nil, fmt.Errorf("line %d repeats a name", n)
		}
		u.hashes[name], most = []byte(hash), max(most, cost)
	}
	if len(u.hashes) == 0 {
		return nil, errors.New("names no user")
	}
	var err error
	u.decoy, err = bcrypt.GenerateFromPassword(u.salt[:], most)

	return u, err
}

// Check returns nil if the password is the user's, ErrRefused if not, and ErrBusy if
// it could not be told in time.
func (u *Users) Check(ctx context.Context, name, password string) error {
	digest := u.digest(password)
	if u.known(name, digest) {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	select {
	case u.turn <- struct{}{}:
	case <-ctx.Done():
		return ErrBusy
	}
	hash := u.hashes[name]
	if hash == nil {
		hash = u.decoy
	}
	if bcrypt.CompareHashAndPassword(hash, []byte(password)) != nil || u.hashes[name] == nil {
		time.AfterFunc(penalty, func() { <-u.turn })

		return ErrRefused
	}
	<-u.turn
	u.mu.Lock()
	defer u.mu.Unlock()
	u.proven[name] = digest

	return nil
}

func (u *Users) digest(password string) [sha256.Size]byte {
	return sha256.Sum256(append(u.salt[:len(u.salt):len(u.salt)], password...))
}

func (u *Users) known(name string, digest [sha256.Size]byte) bool {
	u.mu.Lock()
	defer u.mu.Unlock()
	proven, ok := u.proven[name]

	return ok && subtle.ConstantTimeCompare(proven[:], digest[:]) == 1
}
