// Package mailtest fuzzes the mail worker's parser. It is apart from
// internal/calendar/mail, whose tests contain the whole service, because fuzzing compiles
// everything again.
package mailtest
