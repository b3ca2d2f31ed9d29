package basicauth_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/crypto/bcrypt"

	"leasehold/basicauth"
)

// line is one of a file for the user.
func line(t *testing.T, name, password string) string {
	t.Helper()
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		t.Fatal(err)
	}
	return name + ":" + string(hash) + "\n"
}

func parse(t *testing.T, text string) *basicauth.Users {
	t.Helper()
	u, err := basicauth.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestWhoIsLetIn(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := parse(t, "# people\n\n"+line(t, "ann", "right")+line(t, "bob", "rights"))
		for _, c := range []struct {
			name, password string
			want           error
		}{
			{"ann", "right", nil},
			{"ann", "right", nil},
			{"bob", "rights", nil},
			{"ann", "rights", basicauth.ErrRefused},
			{"ann", "", basicauth.ErrRefused},
			{"ann", "right", nil},
			{"eve", "right", basicauth.ErrRefused},
			{"", "", basicauth.ErrRefused},
			{"ann ", "right", basicauth.ErrRefused},
			{"ann", strings.Repeat("x", 100), basicauth.ErrRefused},
		} {
			if err := u.Check(t.Context(), c.name, c.password); !errors.Is(err, c.want) {
				t.Errorf("%q with %q: %v, want %v", c.name, c.password, err, c.want)
			}
		}
	})
}

// htpasswd -B writes $2y$, other tools $2a$ and $2b$.
func TestWhatHtpasswdWritesIsRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "users")
	for _, variant := range []string{"$2y$", "$2a$", "$2b$"} {
		text := strings.Replace(line(t, "ann", "right"), "$2a$", variant, 1)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		u, err := basicauth.Load(file)
		if err != nil {
			t.Fatalf("%s: %v", variant, err)
		}
		if err := u.Check(t.Context(), "ann", "right"); err != nil {
			t.Errorf("%s: %v", variant, err)
		}
	}
}

func TestFilesThatCanNotBeUsed(t *testing.T) {
	ann := line(t, "ann", "right")
	for text, want := range map[string]string{
		"":                                      "names no user",
		"# nobody\n":                            "names no user",
		ann + "ann:s3cret\n":                    "line 2 is not NAME:HASH",
		"ann:$apr1$s3cret$abc\n":                "line 1 is not NAME:HASH",
		"s3cret\n":                              "line 1 is not NAME:HASH",
		ann[3:]:                                 "line 1 is not NAME:HASH",
		ann + ann:                               "line 2 repeats a name",
		strings.Replace(ann, "$04$", "$13$", 1): "line 1 has a bcrypt cost of 13",
	} {
		_, err := basicauth.Parse(text)
		if err == nil || !strings.HasPrefix(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
	if _, err := basicauth.Load(filepath.Join(t.TempDir(), "none")); err == nil || err.Error() != "no such file or directory" {
		t.Errorf("no file: %v", err)
	}
}

// Guessing must cost the guesser time, not the node its processor, and must not lock
// out who is known already.
func TestGuessingIsSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		u := parse(t, line(t, "ann", "right")+line(t, "bob", "right"))
		if err := u.Check(t.Context(), "ann", "right"); err != nil {
			t.Fatal(err)
		}
		refused, busy := 0, 0
		began := time.Now()
		answers := make(chan error)
		for range 100 {
			go func() { answers <- u.Check(context.Background(), "bob", "wrong") }()
		}
		synctest.Wait()
		if err := u.Check(t.Context(), "ann", "right"); err != nil || time.Since(began) > 0 {
			t.Errorf("who is known gets %v after %s", err, time.Since(began))
		}
		for range 100 {
			switch err := <-answers; {
			case errors.Is(err, basicauth.ErrRefused):
				refused++
			case errors.Is(err, basicauth.ErrBusy):
				busy++
			default:
				t.Errorf("a guess gets %v", err)
			}
		}
		if took := time.Since(began); took > 2*time.Second || refused > 5 || busy < 95 {
			t.Errorf("%d refused and %d busy after %s", refused, busy, took)
		}
		time.Sleep(time.Second)
		if err := u.Check(t.Context(), "bob", "right"); err != nil {
			t.Errorf("afterwards the right password gets %v", err)
		}
	})
}

func FuzzParse(f *testing.F) {
	f.Add("ann:$2a$04$0123456789012345678901234567890123456789012345678901\n")
	f.Add("#\n:\n")
	f.Fuzz(func(_ *testing.T, text string) { _, _ = basicauth.Parse(text) })
}
