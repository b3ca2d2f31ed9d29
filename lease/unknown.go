package lease

import "errors"

// Unknown reports whether the answer to a call says nothing about the lease: it may
// have been carried out, or not.
func Unknown(err error) bool {
	return err != nil && !errors.Is(err, ErrLost) && !errors.Is(err, ErrForeign)
}
