package certfile_test

import (
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"testing"

	"leasehold/certfile"
	"leasehold/internal/certtest"
)

func TestAServerIsKnownByEitherFile(t *testing.T) {
	ca := certtest.New(t)
	cert, key := ca.Pair(t, "n1")
	otherCert, otherKey := ca.Pair(t, "n1")
	none := filepath.Join(t.TempDir(), "none")
	leaf := func(file string) *x509.Certificate {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		block, _ := pem.Decode(text)
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	shown, other := leaf(cert), leaf(otherCert)
	for _, files := range [][2]string{{cert, key}, {cert, otherKey}, {otherCert, key}, {cert, none}, {none, key}, {key, key}, {cert, cert}} {
		known, err := certfile.Known(files[0], files[1])
		if err != nil || !known(shown) {
			t.Errorf("%v do not know it: %v", files, err)
		} else if known(other) != (files[0] == otherCert || files[1] == otherKey) {
			t.Errorf("%v take another for it, or not the one they have", files)
		}
	}
	for _, files := range [][2]string{{none, none}, {key, cert}, {none, ""}} {
		if _, err := certfile.Known(files[0], files[1]); err == nil {
			t.Errorf("%v know somebody", files)
		}
	}
}

// In each form that a server's key can have.
func TestAServerIsKnownByEveryKindOfKey(t *testing.T) {
	small, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	curve, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_, edwards, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	sec1, err := x509.MarshalECPrivateKey(curve)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8 := func(key any) []byte {
		der, err := x509.MarshalPKCS8PrivateKey(key)
		if err != nil {
			t.Fatal(err)
		}
		return der
	}
	for name, c := range map[string]struct {
		der    []byte
		signer crypto.Signer
	}{
		"PKCS 1": {x509.MarshalPKCS1PrivateKey(small), small}, "SEC 1": {sec1, curve},
		"RSA": {pkcs8(small), small}, "EC": {pkcs8(curve), curve}, "Ed25519": {pkcs8(edwards), edwards},
	} {
		file := filepath.Join(t.TempDir(), "key.pem")
		if err := os.WriteFile(file, pem.EncodeToMemory(&pem.Block{Type: "ANY PRIVATE KEY", Bytes: c.der}), 0o600); err != nil {
			t.Fatal(err)
		}
		known, err := certfile.Known("none", file)
		if err != nil || !known(&x509.Certificate{PublicKey: c.signer.Public()}) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
