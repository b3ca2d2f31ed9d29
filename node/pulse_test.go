package node

import "testing"

func TestAnActorIsJudgedByQuestionsAndNotByTime(t *testing.T) {
	var p part
	for range 3 {
		p.ask()()
	}
	if p.stuck() {
		t.Error("one that always answers is stuck")
	}
	answer := p.ask() // and the process is frozen, for as long as you like
	second := p.ask()
	if p.stuck() {
		t.Error("one question after a freeze it is stuck")
	}
	answer()
	second()
	p.ask()
	if p.stuck() {
		t.Error("what had answered is stuck")
	}
	for i := range deadAfter {
		if p.stuck() {
			t.Errorf("stuck after %d questions", i)
		}
		p.ask()
	}
	if !p.stuck() {
		t.Error("it never answers, and is not stuck")
	}
	last := p.ask()
	last()
	if p.stuck() {
		t.Error("it has answered, and is stuck")
	}
}
