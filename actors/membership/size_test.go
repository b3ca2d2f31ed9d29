package membership

import (
	"testing"
	"unsafe"
)

// There is one for each session of the fleet, and the next larger class takes 64 bytes more.
func TestAnEntryFitsItsSizeClass(t *testing.T) {
	if size := unsafe.Sizeof(entry{}); size > 512 {
		t.Errorf("an entry takes %d bytes", size)
	}
}
