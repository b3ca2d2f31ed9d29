package metrics

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"

	"leasehold/eventlog"
)

var errBoom = errors.New("boom")

// series returns the values of all series, by name and labels: name{a=b,c=d}.
// Histograms give name_count and name_sum.
func series(t *testing.T, m *Metrics) map[string]float64 {
	t.Helper()
	families, err := m.Gatherer().Gather()
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string]float64)
	for _, f := range families {
		for _, one := range f.GetMetric() {
			var labels []string
			for _, l := range one.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			tail := ""
			if labels != nil {
				tail = "{" + strings.Join(labels, ",") + "}"
			}
			if h := one.GetHistogram(); h != nil {
				all[f.GetName()+"_count"+tail] = float64(h.GetSampleCount())
				all[f.GetName()+"_sum"+tail] = h.GetSampleSum()
			} else {
				all[f.GetName()+tail] = one.GetCounter().GetValue() + one.GetGauge().GetValue() + one.GetUntyped().GetValue()
			}
		}
	}
	return all
}

// risen returns what events change, among the product's own series.
func risen(t *testing.T, events ...eventlog.Event) map[string]float64 {
	t.Helper()
	m := New(Build{})
	before := series(t, m)
	for _, e := range events {
		m.Observe(e)
	}
	got := make(map[string]float64)
	for name, v := range series(t, m) {
		if d := v - before[name]; d != 0 && strings.HasPrefix(name, prefix) {
			got[strings.TrimPrefix(name, prefix)] = d
		}
	}
	return got
}

func TestEveryEventIsCountedOrNamedAsOneThatIsNot(t *testing.T) {
	m := New(Build{})
	for _, e := range eventlog.All() {
		if !m.observe(e) {
			t.Errorf("%T is in no switch of this package", e)
		}
		counted := len(risen(t, e)) > 0
		if e == (eventlog.ReconcileRepaired{}) || e == (eventlog.LeaseAcquireFailed{}) {
			counted = true // an empty one repaired nothing, or claimed nothing
		}
		if counted == uncounted(e) {
			t.Errorf("%T: counted %t, although it is said to be uncounted: %t", e, counted, !counted)
		}
	}
}

func TestWhatEachEventCounts(t *testing.T) {
	for _, c := range []struct {
		event eventlog.Event
		want  map[string]float64
	}{
		{eventlog.LeaseAcquired{Trigger: "timer", Takeover: 1500 * time.Millisecond}, map[string]float64{
			"lease_acquisitions_total{result=acquired,trigger=timer}": 1,
			"lease_takeover_seconds_count{trigger=timer}":             1,
			"lease_takeover_seconds_sum{trigger=timer}":               1.5,
		}},
		{eventlog.LeaseAcquired{Trigger: "api", Takeover: -1}, map[string]float64{"lease_acquisitions_total{result=acquired,trigger=api}": 1}},
		{eventlog.LeaseAcquireFailed{Trigger: "plan", Holder: "b-1"}, map[string]float64{"lease_acquisitions_total{result=held,trigger=plan}": 1}},
		{eventlog.LeaseAcquireFailed{Trigger: "event", Err: errBoom, Repeat: true}, map[string]float64{
			"lease_acquisitions_total{result=failed,trigger=event}": 1,
		}},
		{eventlog.LeaseAcquireFailed{Holder: "ghost", Err: errBoom}, map[string]float64{}}, // a look
		{eventlog.LeaseReleased{Reason: "rebalance", Held: time.Minute}, map[string]float64{
			"lease_releases_total{reason=rebalance}": 1, "lease_hold_seconds_count": 1, "lease_hold_seconds_sum": 60,
		}},
		{eventlog.LeaseReleased{Reason: "another"}, map[string]float64{"lease_releases_total{reason=other}": 1}},
		{eventlog.LeaseRenewed{}, map[string]float64{"lease_renewals_total{result=renewed}": 1}},
		{eventlog.LeaseRenewed{Holder: "w1"}, map[string]float64{"lease_renewals_total{result=api}": 1}},
		{eventlog.LeaseRenewFailed{Err: errBoom}, map[string]float64{"lease_renewals_total{result=unanswered}": 1}},
		{eventlog.LeaseExpired{Reason: "late", Held: 2 * time.Second}, map[string]float64{
			"lease_losses_total{reason=expired}": 1, "lease_hold_seconds_count": 1, "lease_hold_seconds_sum": 2,
		}},
		{eventlog.LeaseLost{Holder: "b-1"}, map[string]float64{"lease_losses_total{reason=taken}": 1}},
		{eventlog.LeaseLost{}, map[string]float64{"lease_losses_total{reason=gone}": 1}},
		{eventlog.PollStarted{Delay: -1}, map[string]float64{"polls_started_total": 1, "ownership_checks_total{result=owned}": 1}},
		{eventlog.PollStarted{Delay: 2500 * time.Millisecond, Missed: 2}, map[string]float64{
			"polls_started_total": 1, "ownership_checks_total{result=owned}": 1, "poll_delay_seconds_count": 1, "poll_delay_seconds_sum": 2.5,
			"poll_slots_missed_total": 2,
		}},
		{eventlog.PollStarted{Delay: 250 * time.Millisecond}, map[string]float64{
			"polls_started_total": 1, "ownership_checks_total{result=owned}": 1, "poll_delay_seconds_count": 1, "poll_delay_seconds_sum": .25,
		}},
		{eventlog.PollSkipped{Reason: "unusable"}, map[string]float64{"polls_skipped_total{reason=unusable}": 1}},
		{eventlog.PollSkipped{Reason: "not_due"}, map[string]float64{
			"polls_skipped_total{reason=not_due}": 1, "ownership_checks_total{result=not_due}": 1,
		}},
		{eventlog.PollCanceled{Duration: time.Second}, map[string]float64{"polls_total{result=canceled}": 1}},
		{eventlog.PollSucceeded{Duration: 250 * time.Millisecond}, map[string]float64{
			"polls_total{result=success}": 1, "poll_duration_seconds_count{result=success}": 1, "poll_duration_seconds_sum{result=success}": .25,
		}},
		{eventlog.PollFailed{Class: "timeout", Duration: 5 * time.Second, Repeat: true}, map[string]float64{
			"polls_total{result=timeout}": 1, "poll_duration_seconds_count{result=failure}": 1, "poll_duration_seconds_sum{result=failure}": 5,
		}},
		{eventlog.PollFailed{Class: "of my own"}, map[string]float64{
			"polls_total{result=other}": 1, "poll_duration_seconds_count{result=failure}": 1,
		}},
		{eventlog.ResultFenced{}, map[string]float64{"results_fenced_total": 1}},
		{eventlog.PollFailed{Class: "denied"}, map[string]float64{
			"polls_total{result=denied}": 1, "poll_duration_seconds_count{result=failure}": 1,
		}},
		{eventlog.PollRecovered{}, map[string]float64{"poll_recoveries_total": 1}},
		{eventlog.PollLogged{}, map[string]float64{"polls_logged_total": 1}},
		{eventlog.PollDeferred{}, map[string]float64{"poll_deferrals_total": 1}},
		{eventlog.ReconcileRepaired{Kind: "session", Count: 7}, map[string]float64{"reconcile_repairs_total{kind=session}": 7}},
		{eventlog.MemberJoined{}, map[string]float64{"member_changes_total{change=joined}": 1}},
		{eventlog.MemberLeft{}, map[string]float64{"member_changes_total{change=left}": 1}},
		{eventlog.MemberExpired{}, map[string]float64{"member_changes_total{change=expired}": 1}},
		{eventlog.SessionAdded{}, map[string]float64{"session_changes_total{change=added}": 1}},
		{eventlog.SessionChanged{}, map[string]float64{"session_changes_total{change=changed}": 1}},
		{eventlog.SessionRemoved{}, map[string]float64{"session_changes_total{change=removed}": 1}},
		{eventlog.SessionInvalid{}, map[string]float64{"session_changes_total{change=invalid}": 1}},
		{eventlog.KeyForeign{}, map[string]float64{"foreign_keys_total": 1}},
		{eventlog.EventsSubscribed{}, map[string]float64{"events_subscriptions_total": 1}},
		{eventlog.ClaimsHeldOff{}, map[string]float64{"claims_held_off_total": 1}},
		{eventlog.EventsDisabled{}, map[string]float64{"events_refusals_total": 1}},
		{eventlog.RedisDown{}, map[string]float64{"redis_outages_total": 1}},
		{eventlog.EventsLost{}, map[string]float64{"events_gaps_total": 1}},
		{eventlog.NodeFenced{}, map[string]float64{"fencings_total": 1}},
		{eventlog.ActorFailed{}, map[string]float64{"actor_failures_total": 1}},
	} {
		got := risen(t, c.event)
		if len(got) != len(c.want) {
			t.Errorf("%#v counts %v, not %v", c.event, got, c.want)
		}
		for name, v := range c.want {
			if got[name] != v {
				t.Errorf("%#v counts %v, not %v", c.event, got, c.want)
			}
		}
	}
}

func TestTheMetricsPassTheLinterOfPrometheus(t *testing.T) {
	problems, err := testutil.GatherAndLint(full(t).Gatherer())
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range problems {
		if strings.HasPrefix(p.Metric, prefix) {
			t.Errorf("%s: %s", p.Metric, p.Text)
		}
	}
}

func TestNoMetricsAreNoTrouble(t *testing.T) {
	var m *Metrics
	m.Observe(eventlog.NodeReady{})
	m.WatchLog(nil)
	m.WatchTraces(nil)
	if m.Handler() != nil {
		t.Error("no metrics have a handler")
	}
}

func BenchmarkObserve(b *testing.B) {
	m := New(Build{})
	for name, e := range map[string]eventlog.Event{
		"renewed":   eventlog.LeaseRenewed{Session: "s", Version: 1},
		"succeeded": eventlog.PollSucceeded{Session: "s", Duration: time.Millisecond},
		"acquired":  eventlog.LeaseAcquired{Session: "s", Trigger: "event", Takeover: time.Millisecond},
		"lost":      eventlog.EventsLost{},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				m.Observe(e)
			}
		})
	}
}

func TestATallyIsOfWhatCameSinceTheLastOne(t *testing.T) {
	m := New(Build{})
	for _, e := range []eventlog.Event{
		eventlog.PollStarted{Delay: 30 * time.Millisecond},
		eventlog.PollStarted{Delay: 20 * time.Millisecond},
		eventlog.PollStarted{Delay: -1},
		eventlog.PollSucceeded{},
		eventlog.PollFailed{Class: "timeout"},
		eventlog.PollCanceled{},
	} {
		m.Observe(e)
	}
	if got, want := m.Tally(), (Tally{Polls: 2, Failures: 1, Delay: 30 * time.Millisecond}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
	if got := m.Tally(); got != (Tally{}) {
		t.Errorf("%+v is left", got)
	}
}
