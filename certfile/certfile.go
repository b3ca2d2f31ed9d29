package certfile

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"sync"
	"time"
)

// Error says that one of the files of a [Pair] can not be used.
type Error struct {
	// Key is true where it is the key's.
	Key bool
	Err error
}

func (e *Error) Error() string {
	if e.Key {
		return "key: " + e.Err.Error()
	}

	return "certificate: " + e.Err.Error()
}

func (e *Error) Unwrap() error { return e.Err }

// Pair is a certificate and its key. Its methods may be called from any goroutine.
type Pair struct {
	certFile, keyFile string

	mu      sync.Mutex
	current *tls.Certificate
	stamps  [2]stamp
	unfit   func(error)
	// fault is why the present files are of no use, as long as nobody was told, and since
	// is when that was seen.
	fault error
	since time.Time
}

// patience is how long the two files may be at odds while they are replaced.
const patience = 10 * time.Second

// stamp tells one content of a file from another.
type stamp struct {
	at   time.Time
	size int64
}

// Load reads a certificate, which intermediate ones may follow, and its key, both
// PEM. Its error is an [*Error].
func Load(certFile, keyFile string) (*Pair, error) {
	p := &Pair{certFile: certFile, keyFile: keyFile}
	p.stamps = p.look()
	c, err := p.read()
	if err != nil {
		return nil, err
	}
	p.current = c

	return p, nil
}

// WhenUnfit has f called when what the files hold has been of no use for ten seconds,
// and a certificate is wanted: the pair before it goes on, until its time is over. It is
// called once for each content of the files, by who wants the certificate; call this
// before the pair is used.
func (p *Pair) WhenUnfit(f func(error)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.unfit = f
}

// ForServer is for GetCertificate of a [tls.Config]. It never fails.
func (p *Pair) ForServer(*tls.ClientHelloInfo) (*tls.Certificate, error) { return p.latest(), nil }

// ForClient is for GetClientCertificate of a [tls.Config]. It never fails.
func (p *Pair) ForClient(*tls.CertificateRequestInfo) (*tls.Certificate, error) {
	return p.latest(), nil
}

// latest returns the pair as it is in the files, or was when it was last sound.
func (p *Pair) latest() *tls.Certificate {
	p.mu.Lock()
	tell := p.refresh(time.Now())
	current := p.current
	p.mu.Unlock()
	tell()

	return current
}

// refresh reads the files if they have changed. It returns what to do when nothing is
// locked any more.
func (p *Pair) refresh(now time.Time) func() {
	if seen := p.look(); seen != p.stamps {
		p.stamps = seen // also of what can't be read: it has to change to become better
		c, err := p.read()
		if p.fault, p.since = err, now; err == nil {
			p.current = c
		}
	}
	if p.fault == nil || p.unfit == nil || now.Sub(p.since) < patience {
		return func() {}
	}
	fault, unfit := p.fault, p.unfit
	p.fault = nil

	return func() { unfit(fault) }
}

func (p *Pair) look() (s [2]stamp) {
	for i, file := range []string{p.certFile, p.keyFile} {
		if info, err := os.Stat(file); err == nil {
			s[i] = stamp{at: info.ModTime(), size: info.Size()}
		}
	}

	return s
}

func (p *Pair) read() (*tls.Certificate, error) {
	cert, err := os.ReadFile(p.certFile)
	if err != nil {
		return nil, &Error{Err: unnamed(err)}
	}
	if !holdsCertificate(cert) {
		return nil, &Error{Err: errNoCertificate}
	}
	key, err := os.ReadFile(p.keyFile)
	if err != nil {
		return nil, &Error{Key: true, Err: unnamed(err)}
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, &Error{Key: true, Err: err}
	}

	return &pair, nil
}

// Authorities reads the certificates of those whose word counts.
func Authorities(file string) (*x509.CertPool, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, unnamed(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(text) {
		return nil, errNoCertificate
	}

	return pool, nil
}

var errNoCertificate = errors.New("holds no certificate in PEM")

func holdsCertificate(text []byte) bool {
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if _, err := x509.ParseCertificate(block.Bytes); err == nil && block.Type == "CERTIFICATE" {
			return true
		}
	}

	return false
}

// unnamed leaves the file's name to those who know which setting named it.
func unnamed(err error) error {
	if e, ok := errors.AsType[*os.PathError](err); ok {
		return e.Err
	}

	return err
}
