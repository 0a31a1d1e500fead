package dibs

import (
	"bytes"
	"runtime"
	"strconv"
)

// goroutineID tells who calls. Stop needs it: a handler that waits for the end of all handlers would wait for itself.
type goroutineID uint64

func currentGoroutine() goroutineID {
	// It begins with "goroutine 7 [running]:".
	line := make([]byte, 32)
	line = line[:runtime.Stack(line, false)]
	if fields := bytes.Fields(line); len(fields) > 1 {
		id, _ := strconv.ParseUint(string(fields[1]), 10, 64)
		return goroutineID(id)
	}
	return 0
}
