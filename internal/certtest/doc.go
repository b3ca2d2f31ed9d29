// Package certtest makes certificates for tests: authorities, and what they sign, as
// files.
package certtest
