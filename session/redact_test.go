package session_test

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"leasehold/session"
)

var _ = DescribeTable("a URL is shown", func(raw, want string) {
	Expect(session.RedactURL(raw)).To(Equal(want))
},
	Entry("as it is", "https://h:8443/a%2Fb?x=1&y=%20", "https://h:8443/a%2Fb?x=1&y=%20"),
	Entry("without user", "http://me@h/", "http://h/"),
	Entry("without user and password", "redis://me:hunter2@h:6379/0", "redis://h:6379/0"),
	Entry("without a password that holds @", "http://me:hun@ter2@h/", "http://h/"),
	Entry("without fragment", "http://h/#access_token=hunter2", "http://h/"),
	Entry("with secrets masked in place", "http://h/?a=1&api_key=hunter2&b=2", "http://h/?a=1&api_key=***&b=2"),
	Entry("whatever the case", "http://h/?X-Amz-Signature=hunter2", "http://h/?X-Amz-Signature=***"),
	Entry("also escaped", "http://h/?%74oken=hunter2", "http://h/?%74oken=***"),
	Entry("also with a broken name", "http://h/?%zz=hunter2", "http://h/?%zz=***"),
	Entry("also after a semicolon", "http://h/?a=1;password=hunter2", "http://h/?a=1;password=***"),
	Entry("also repeated", "http://h/?sig=hunter2&sig=hunter2", "http://h/?sig=***&sig=***"),
	Entry("also with = in the value", "http://h/?auth=hunter2==", "http://h/?auth=***"),
	Entry("not at all, when unreadable", "http://me:hunter2@h:port/", "[unreadable URL]"),
	Entry("not at all, without scheme", "me:hunter2@h/x", "[unreadable URL]"),
	Entry("not at all, with a mere @", "hunter2@h/x", "[unreadable URL]"),
	Entry("empty", "", ""),
)
