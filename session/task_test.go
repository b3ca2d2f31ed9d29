package session_test

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/session"
)

var _ = Describe("a task", func() {
	It("is what names misfire or cron, not what has a long interval", func() {
		Expect(decoded(with(`"interval":"24h"`)).Task()).To(BeFalse())
		Expect(decoded(with(`"misfire":""`)).Task()).To(BeFalse())
		Expect(decoded(with(`"timezone":"UTC"`)).Task()).To(BeFalse())
		Expect(decoded(with(`"misfire":"skip"`)).Misfire).To(Equal(session.Skip))
		s := decoded(with(`"cron":"*/5 * * * *","timezone":"Europe/Berlin"`))
		Expect(s.Misfire).To(Equal(session.Once))
		Expect(s.Interval).To(Equal(5 * time.Minute))
		Expect(s.Calendar.String()).To(Equal("*/5 * * * * Europe/Berlin"))
		Expect(decoded(with(`"cron":"@daily","misfire":"skip"`)).Misfire).To(Equal(session.Skip))
	})

	DescribeTable("is invalid with", func(raw, field, reason string) {
		err := refusal(raw)
		Expect(err.Field).To(Equal(field))
		Expect(err.Reason).To(ContainSubstring(reason))
		Expect(len(err.Error())).To(BeNumerically("<", 200))
	},
		Entry("another misfire", with(`"misfire":"always"`), "misfire", `is "always"`),
		Entry("cron of another type", with(`"cron":5`), "cron", "must be a string"),
		Entry("four fields", with(`"cron":"* * * *"`), "cron", "five fields"),
		Entry("a day that never comes", with(`"cron":"0 0 30 2 *"`), "cron", "never comes"),
		Entry("an unknown zone", with(`"cron":"0 0 * * *","timezone":"Mars/Olympus"`), "cron", "no time zone"),
		Entry("both rhythms", with(`"cron":"0 0 * * *","interval":"1h"`), "cron", "together with interval"),
	)
})
