package dibs

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

// RunUntilSignal is Run until SIGTERM or Ctrl-C, which stop it as Stop does: then it returns nil. A second one makes the deadline now.
func (w *Worker) RunUntilSignal(ctx context.Context) error {
	heard := make(chan os.Signal, 2)
	signal.Notify(heard, syscall.SIGTERM, os.Interrupt)
	defer signal.Stop(heard)
	over := make(chan struct{})
	defer close(over)
	go func() {
		for _, stop := range []func(){w.Stop, func() { w.StopWithin(0) }} {
			select {
			case <-heard:
				go stop()
			case <-over:
				return
			}
		}
	}()
	return w.Run(ctx)
}
