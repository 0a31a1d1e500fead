package dibs

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"time"
	"unicode"
)

const (
	// logRest is how long a line about requests that fail keeps the next ones back.
	logRest = 10 * time.Second
	// mostOfStart and mostOfEnd are told of a long text: the reason stands at its end.
	mostOfStart = 300
	mostOfEnd   = 700
)

// oneLine makes one line of what may have many, and control characters.
func oneLine(text string) string {
	isBreak := func(char rune) bool { return unicode.IsControl(char) || unicode.IsSpace(char) }
	line := strings.Join(strings.FieldsFunc(text, isBreak), " ")
	if all := []rune(line); len(all) > mostOfStart+mostOfEnd {
		return string(all[:mostOfStart]) + " … " + string(all[len(all)-mostOfEnd:])
	}
	return line
}

// isTold says which events may have a line.
func isTold(event Event) bool {
	switch event.Type {
	case "failed":
		return event.Next != "cancelled"
	case "signalled":
		return event.Err == ErrLeaseLost || event.Err == ErrLeaseExpired
	case "lost":
		return event.Verb != ""
	}
	return event.Type == "refused" || event.Type == "retrying"
}

// logEvent logs what went wrong. No payload, no header and no key is in it.
func logEvent(logger *slog.Logger, event Event) {
	level := slog.LevelWarn
	var text string
	var fields []any
	if event.Job != nil {
		job := event.Job.given
		fields = append(fields, "job", job.ID, "queue", job.Queue, "attempt", job.Attempt)
	}
	switch event.Type {
	case "failed":
		level, text = slog.LevelError, "dibs: a job failed"
		fields = append(fields, "max_attempts", event.Job.given.MaxAttempts, "next", nextText(event), "error", event.Reason)
	case "signalled":
		text = "dibs: a lease is lost: another worker may have the job"
		fields = append(fields, "code", event.Err.Error())
	case "lost":
		text = fmt.Sprintf("dibs: the %s of a job came after its lease: it does not count", event.Verb)
	case "refused":
		text = fmt.Sprintf("dibs: the %s of a job was refused", event.Verb)
		fields = append(fields, "error", oneLine(ownText(event.Err)))
	case "retrying":
		text = fmt.Sprintf("dibs: the %s failed, and is tried again", event.Request)
		fields = append(fields, "error", oneLine(ownText(event.Err)))
	}
	logger.Log(context.Background(), level, text, fields...)
}

func nextText(event Event) string {
	switch {
	case event.Next == "dead":
		return "is dead"
	case event.RetryIn != nil:
		return "is tried again in " + event.RetryIn.String()
	}
	return "is tried again after its backoff"
}

// reporter logs with Logger, or with the default logger of the moment. While requests fail, it says so now and then.
func (w *Worker) reporter() func(Event) {
	var restsUntil time.Time
	return func(event Event) {
		if event.Type == "retrying" {
			if time.Now().Before(restsUntil) {
				return
			}
			restsUntil = time.Now().Add(logRest)
		}
		logger := w.Logger
		if logger == nil {
			logger = slog.Default()
		}
		logEvent(logger, event)
	}
}
