package certfile

import (
	"bytes"
	"crypto"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
)

// Known returns how to know a server that has the pair of the files. While they are
// replaced it goes on with the former one, of which one file may still be there: so it is
// known by the certificate, or by one for the key, since a server proves that it has the
// key of what it shows. The error is of the certificate's file, where neither can be used.
func Known(certFile, keyFile string) (func(shown *x509.Certificate) bool, error) {
	cert, err := certificate(certFile)
	key := publicKey(keyFile)
	if err != nil && key == nil {
		return nil, &Error{Err: err}
	}

	return func(shown *x509.Certificate) bool {
		return err == nil && bytes.Equal(shown.Raw, cert) || key != nil && key.Equal(shown.PublicKey)
	}, nil
}

// certificate returns the first one of a file, in DER.
func certificate(file string) ([]byte, error) {
	text, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return nil, unnamed(err)
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		if block.Type == "CERTIFICATE" {
			return block.Bytes, nil
		}
	}

	return nil, errNoCertificate
}

// public is a public key, as all of the standard library are.
type public interface{ Equal(crypto.PublicKey) bool }

// publicKey returns that of the private key in a file, or nil where there is none.
func publicKey(file string) public {
	text, err := os.ReadFile(file) //nolint:gosec // the operator names the file
	if err != nil {
		return nil
	}
	for block, rest := pem.Decode(text); block != nil; block, rest = pem.Decode(rest) {
		private, err := privateKey(block.Bytes)
		if err != nil {
			continue
		}
		if signer, ok := private.(crypto.Signer); ok {
			if key, ok := signer.Public().(public); ok {
				return key
			}
		}
	}

	return nil
}

// privateKey reads what package tls reads.
func privateKey(der []byte) (any, error) {
	if key, err := x509.ParsePKCS8PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParsePKCS1PrivateKey(der); err == nil {
		return key, nil
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}

	return nil, errors.New("no private key")
}
