package rediskey

import (
	"strconv"
	"strings"
)

// slots is the number of hash slots of a Redis cluster.
const slots = 16384

// Slot returns the cluster slot of a key: CRC16 of its hash tag, or of the whole
// key where it has none, modulo 16384.
func Slot(key string) uint16 {
	if tag, found := hashTag(key); found {
		key = tag
	}

	return crc16(key) % slots
}

// hashTag finds the part of a key that alone decides its slot: what stands
// between the first opening brace and the next closing one, unless empty.
func hashTag(key string) (string, bool) {
	_, rest, opened := strings.Cut(key, "{")
	if !opened {
		return "", false
	}
	tag, _, closed := strings.Cut(rest, "}")

	return tag, closed && tag != ""
}

// slotTag returns a hash tag whose slot is that of the key.
func slotTag(key string) string {
	if tag, found := hashTag(key); found {
		return tag
	}
	if !strings.Contains(key, "}") {
		return key
	}

	// The key as a tag would end at its own brace: take a number instead.
	return numberFor(crc16(key) % slots)
}

// numberFor returns the smallest decimal number that hashes to the slot. Every
// slot has one of at most six digits, found within a millisecond.
func numberFor(slot uint16) string {
	var digits [20]byte
	lead := digits[:0]
	for tens := uint64(0); ; tens++ {
		if tens > 0 {
			lead = strconv.AppendUint(digits[:0], tens, 10)
		}
		crc := crc16(lead)
		for last := byte('0'); last <= '9'; last++ {
			if fold(crc, last)%slots == slot {
				return string(append(lead, last))
			}
		}
	}
}

// crc16 is CRC-16/XMODEM (polynomial 0x1021, start 0), the one of Redis Cluster.
func crc16[T string | []byte](data T) uint16 {
	var crc uint16
	for i := range len(data) {
		crc = fold(crc, data[i])
	}

	return crc
}

// fold takes one more byte into a CRC without a table: x collects the bits that
// the division shifts out, and the polynomial's terms 12, 5 and 0 put them back.
func fold(crc uint16, b byte) uint16 {
	x := crc>>8 ^ uint16(b)
	x ^= x >> 4

	return crc<<8 ^ x<<12 ^ x<<5 ^ x
}
