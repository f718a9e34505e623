package anabranch

import (
	"encoding/binary"
	"math/bits"
)

// XXH3 with 64 and 128 bits, without a seed, for inputs of 17 bytes or more (Collet, xxHash specification 0.2): the
// checksum and the digest of snapshots, which are never shorter.

// shortest is the number of bytes of the shortest input.
const shortest = 17

const (
	prime32x1 = 0x9e3779b1
	prime32x2 = 0x85ebca77
	prime32x3 = 0xc2b2ae3d
	prime64x1 = 0x9e3779b185ebca87
	prime64x2 = 0xc2b2ae3d27d4eb4f
	prime64x3 = 0x165667b19e3779f9
	prime64x4 = 0x85ebca77c2b2ae63
	prime64x5 = 0x27d4eb2f165667c5
)

// secret is the default one.
const secret = "" +
	"\xb8\xfe\x6c\x39\x23\xa4\x4b\xbe\x7c\x01\x81\x2c\xf7\x21\xad\x1c\xde\xd4\x6d\xe9\x83\x90\x97\xdb\x72\x40\xa4\xa4" +
	"\xb7\xb3\x67\x1f\xcb\x79\xe6\x4e\xcc\xc0\xe5\x78\x82\x5a\xd0\x7d\xcc\xff\x72\x21\xb8\x08\x46\x74\xf7\x43\x24\x8e" +
	"\xe0\x35\x90\xe6\x81\x3a\x26\x4c\x3c\x28\x52\xbb\x91\xc3\x00\xcb\x88\xd0\x65\x8b\x1b\x53\x2e\xa3\x71\x64\x48\x97" +
	"\xa2\x0d\xf9\x4e\x38\x19\xef\x46\xa9\xde\xac\xd8\xa8\xfa\x76\x3f\xe3\x9c\x34\x3f\xf9\xdc\xbb\xc7\xc7\x0b\x4f\x1d" +
	"\x8a\x51\xe0\x4b\xcd\xb4\x59\x31\xc8\x9f\x7e\xc9\xd9\x78\x73\x64\xea\xc5\xac\x83\x34\xd3\xeb\xc3\xc5\x81\xa0\xff" +
	"\xfa\x13\x63\xeb\x17\x0d\xdd\x51\xb7\xf0\xda\x49\xd3\x16\x55\x26\x29\xd4\x68\x9e\x2b\x16\xbe\x58\x7d\x47\xa1\xfc" +
	"\x8f\xf8\xb8\xd1\x7a\xd0\x31\xce\x45\xcb\x3a\x8f\x95\x16\x04\x28\xaf\xd7\xfb\xca\xbb\x4b\x40\x7e"

// Offsets into the secret: of middle inputs' second half and last part, of the last stripe, of the merge.
const (
	middleBegin = 3
	middleLast  = 136 - 17
	lastStripe  = len(secret) - stripe - 7
	mergeBegin  = 11
	stripe      = 64
	block       = stripe * (len(secret) - stripe) / 8
)

func word(bytes []byte, at int) uint64 {
	return binary.LittleEndian.Uint64(bytes[at:])
}

func secretWord(at int) uint64 {
	return binary.LittleEndian.Uint64([]byte(secret[at : at+8]))
}

func fold(a, b uint64) uint64 {
	high, low := bits.Mul64(a, b)
	return high ^ low
}

func avalanche(hash uint64) uint64 {
	hash = (hash ^ hash>>37) * 0x165667919e3779f9
	return hash ^ hash>>32
}

// mix returns the hash of 16 bytes.
func mix(input []byte, at, key int) uint64 {
	return fold(word(input, at)^secretWord(key), word(input, at+8)^secretWord(key+8))
}

// xxh3 returns the hash of 64 bits.
func xxh3(input []byte) uint64 {
	length := len(input)
	hash := uint64(length) * prime64x1
	switch {
	case length <= 128:
		for i := (length - 1) / 32; i >= 0; i-- {
			hash += mix(input, 16*i, 32*i) + mix(input, length-16*(i+1), 32*i+16)
		}
	case length <= 240:
		for i := 0; i < 8; i++ {
			hash += mix(input, 16*i, 16*i)
		}
		hash = avalanche(hash)
		for i := 8; i < length/16; i++ {
			hash += mix(input, 16*i, 16*(i-8)+middleBegin)
		}
		hash += mix(input, length-16, middleLast)
	default:
		return merge(stripes(input), mergeBegin, hash)
	}
	return avalanche(hash)
}

// xxh3of128 returns the hash of 128 bits.
func xxh3of128(input []byte) (high, low uint64) {
	length := len(input)
	low = uint64(length) * prime64x1
	both := func(first, second, key int) {
		low = (low + mix(input, first, key)) ^ (word(input, second) + word(input, second+8))
		high = (high + mix(input, second, key+16)) ^ (word(input, first) + word(input, first+8))
	}
	switch {
	case length <= 128:
		for i := (length - 1) / 32; i >= 0; i-- {
			both(16*i, length-16*(i+1), 32*i)
		}
	case length <= 240:
		for i := 0; i < 4; i++ {
			both(32*i, 32*i+16, 32*i)
		}
		low, high = avalanche(low), avalanche(high)
		for i := 4; i < length/32; i++ {
			both(32*i, 32*i+16, 32*(i-4)+middleBegin)
		}
		both(length-16, length-32, middleLast-16)
	default:
		accumulators := stripes(input)
		low = merge(accumulators, mergeBegin, low)
		high = merge(accumulators, len(secret)-stripe-mergeBegin, ^(uint64(length) * prime64x2))
		return high, low
	}
	mixed := low*prime64x1 + high*prime64x4 + uint64(length)*prime64x2
	return -avalanche(mixed), avalanche(low + high)
}

// stripes returns the accumulators of a long input.
func stripes(input []byte) [8]uint64 {
	accumulators := [8]uint64{
		prime32x3, prime64x1, prime64x2, prime64x3, prime64x4, prime32x2, prime64x5, prime32x1,
	}
	accumulate := func(at, key int) {
		for i := range accumulators {
			value := word(input, at+8*i)
			keyed := value ^ secretWord(key+8*i)
			accumulators[i^1] += value
			accumulators[i] += (keyed & 0xffffffff) * (keyed >> 32)
		}
	}
	last := len(input) - 1
	for at := 0; at+stripe <= last; at += stripe {
		accumulate(at, at%block/8)
		if (at+stripe)%block == 0 {
			for i, value := range accumulators {
				accumulators[i] = (value ^ value>>47 ^ secretWord(len(secret)-stripe+8*i)) * prime32x1
			}
		}
	}
	accumulate(len(input)-stripe, lastStripe)
	return accumulators
}

// merge returns a hash of the accumulators.
func merge(accumulators [8]uint64, key int, hash uint64) uint64 {
	for i := 0; i < 8; i += 2 {
		hash += fold(accumulators[i]^secretWord(key+8*i), accumulators[i+1]^secretWord(key+8*i+8))
	}
	return avalanche(hash)
}
