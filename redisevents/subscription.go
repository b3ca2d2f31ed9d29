package redisevents

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// errUnconfirmed says that the answers to the subscribing commands did not come.
var errUnconfirmed = errors.New("subscriptions were not confirmed in time")

// subscription is one connection in subscribed mode. It ends for good at the first
// error: go-redis would reconnect behind our back and hide the gap, and it hides
// refused channels altogether.
type subscription struct {
	ps    *redis.PubSub
	pulse *pulse
	// canary and own are the channels for canaries: of all listeners, and of this one.
	canary, own string

	sent []channel
	hear func(channel, payload string)

	ready chan struct{} // closed when each channel is confirmed or refused
	done  chan struct{} // closed when the reader has ended

	// Written by the reader: refused before ready is closed, err before done is.
	answers int
	refused []error
	err     error
}

// subscribe opens a subscription on a connection of its own and waits until all
// channels are answered for, at most for the context's time. hear is called from
// the reader's goroutine, also before subscribe returns.
func subscribe(ctx context.Context, c *redis.Client, cfg *Config, hear func(channel, payload string)) (*subscription, error) {
	name, first := random()
	s := &subscription{
		ps:     c.Subscribe(ctx),
		canary: canaryChannel(cfg.Keys), own: ownChannel(cfg.Keys, name),
		pulse: newPulse(cfg.Dead, name, first, cfg.Lag),
		hear:  hear,
		ready: make(chan struct{}),
		done:  make(chan struct{}),
	}
	s.sent = channelsOf(cfg, name)
	if err := s.send(ctx); err != nil {
		_ = s.ps.Close()
		return nil, err
	}
	// With a context that has ended, reading works, and what go-redis would do at an
	// error fails at once: it connects anew, with a lock held that closing needs.
	spent, end := context.WithCancel(context.WithoutCancel(ctx))
	end()
	go s.read(spent)
	select {
	case <-s.ready:
		return s, nil
	case <-s.done:
		err := s.err
		s.close()
		return nil, err
	case <-ctx.Done():
		s.close()
		return nil, fmt.Errorf("%w: %w", errUnconfirmed, ctx.Err())
	}
}

// random returns a name and a first canary number that nobody can guess.
func random() (name string, first uint64) {
	var b [24]byte
	_, _ = rand.Read(b[:]) // never fails, by its documentation
	return hex.EncodeToString(b[:16]), binary.LittleEndian.Uint64(b[16:]) >> 1
}

// send asks for each channel with a command of its own, so that a refusal hits
// only its channel, and the n-th answer belongs to the n-th channel.
func (s *subscription) send(ctx context.Context) error {
	for _, ch := range s.sent {
		ask := s.ps.Subscribe
		if ch.pattern {
			ask = s.ps.PSubscribe
		}
		if err := ask(ctx, ch.name); err != nil {
			return err
		}
	}
	return nil
}

// read takes everything off the connection at once until it ends. hear never
// blocks, so Redis never has to buffer for us.
func (s *subscription) read(ctx context.Context) {
	defer close(s.done)
	for {
		message, err := s.ps.Receive(ctx)
		if err != nil {
			if !s.settle(err) {
				s.err = err
				return
			}
			continue
		}
		switch m := message.(type) {
		case *redis.Subscription:
			s.answer(nil)
		case *redis.Message:
			if m.Channel == s.canary || m.Channel == s.own {
				s.pulse.heard(m.Payload, time.Now())
				continue
			}
			s.hear(m.Channel, m.Payload)
		}
	}
}

// settle reports whether err is the refusal of a channel, and notes it.
func (s *subscription) settle(err error) bool {
	if s.answers >= len(s.sent) || !refusal(err) {
		return false
	}
	s.answer(fmt.Errorf("channel %s: %w", s.sent[s.answers].name, err))
	return true
}

// answer counts one answer to a subscribing command.
func (s *subscription) answer(refused error) {
	if refused != nil {
		s.refused = append(s.refused, refused)
	}
	s.answers++
	if s.answers == len(s.sent) {
		close(s.ready)
	}
}

// problem names the refused channels in one line. Call it after subscribe.
func (s *subscription) problem() string {
	if len(s.refused) == 0 {
		return ""
	}
	texts := make([]string, len(s.refused))
	for i, err := range s.refused {
		// The name is random: without it the line stays the same.
		texts[i] = strings.ReplaceAll(err.Error(), s.own, "of the own canary")
	}
	return "refused: " + strings.Join(texts, "; ")
}

// channels names what was asked for and not refused, the canaries' aside.
func (s *subscription) channels() []string {
	names := make([]string, 0, len(s.sent))
	for _, ch := range s.sent[:len(s.sent)-canaryChannels] {
		names = append(names, ch.name)
	}
	return names
}

// tell publishes one canary through c for all listeners. It returns an error of the
// publishing itself.
func (s *subscription) tell(ctx context.Context, c *redis.Client, vouches bool) error {
	n, text := s.pulse.draw(vouches)
	sent := time.Now()
	listeners, err := c.Publish(ctx, s.canary, text).Result()
	if err == nil {
		s.pulse.accepted(n, sent)
		s.pulse.meets(listeners)
	}
	return err
}

// beat publishes one canary through c for this subscription alone. It returns why the
// subscription has to be replaced, or an error of the publishing itself.
func (s *subscription) beat(ctx context.Context, c *redis.Client) (reason string, err error) {
	n, text := s.pulse.draw(false)
	sent := time.Now()
	receivers, err := c.Publish(ctx, s.own, text).Result()
	if err != nil {
		return "", err
	}
	s.pulse.accepted(n, sent)
	if s.pulse.left(receivers) {
		return reasonElsewhere, nil
	}
	return "", nil
}

// close ends the subscription and waits for its reader.
func (s *subscription) close() {
	_ = s.ps.Close()
	<-s.done
}
