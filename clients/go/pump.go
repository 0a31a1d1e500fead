package dibs

import "time"

// pump sends what is due. What is not due yet sets a timer. The caller holds the lock.
func (w *Worker) pump() {
	if w.timer != nil {
		w.timer.Stop()
	}
	if w.phase == fresh || w.phase == stopped {
		return
	}
	now := time.Now()
	wake := time.Time{}
	at := func(when time.Time) {
		if wake.IsZero() || when.Before(wake) {
			wake = when
		}
	}
	if len(w.outbox) > 0 && !w.settling {
		first := w.outbox[0].notBefore
		for _, one := range w.outbox {
			if one.notBefore.Before(first) {
				first = one.notBefore
			}
		}
		if first.Before(w.settleNotBefore) {
			first = w.settleNotBefore
		}
		if first.After(now) {
			at(first)
		} else {
			w.sendSettlements(w.mayCarry(now))
		}
	}
	isClosable := w.phase == stopping && w.claim != nil && !w.closing && !w.carries
	if isClosable {
		if now.After(w.closeUntil) {
			w.claim.hangUp()
			w.claim = nil
		} else {
			at(w.closeUntil.Add(time.Millisecond))
		}
	}
	if w.mayClaim() || (isClosable && w.claim != nil) {
		if due := w.claimDue(); due.After(now) {
			at(due)
		} else if isClosable {
			w.closeClaim()
		} else {
			w.sendClaim()
		}
	}
	if !wake.IsZero() {
		w.timer = time.AfterFunc(time.Until(wake), func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.pump()
		})
	}
	isIdle := !w.claiming && !w.settling && !w.closing
	if w.phase == stopping && isIdle && w.claim == nil && len(w.runs) == 0 {
		w.finish()
	}
}
