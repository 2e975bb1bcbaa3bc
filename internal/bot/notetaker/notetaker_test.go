package notetaker

import (
	"strings"
	"testing"
)

// builtIn returns the built-in list.
func builtIn(t testing.TB) *List {
	t.Helper()
	list, err := Embedded()
	if err != nil {
		t.Fatal(err)
	}
	return list
}

func TestMatchFindsNotetakers(t *testing.T) {
	t.Parallel()
	list := builtIn(t)
	for name, want := range map[string]string{
		"Otter.ai":                            "Otter.ai",
		"OtterPilot":                          "Otter.ai",
		"Anna's OtterPilot":                   "Otter.ai",
		"otter pilot (Guest)":                 "Otter.ai",
		"Otter AI":                            "Otter.ai",
		"Anna’s Otter AI (Unverified)":        "Otter.ai",
		"Otter.ai (Anna Berg)":                "Otter.ai",
		"Fireflies.ai Notetaker Anna":         "Fireflies.ai",
		"Fred (Fireflies.ai)":                 "Fireflies.ai",
		"Anna's Fathom Notetaker":             "Fathom",
		"read.ai meeting notes":               "Read.ai",
		"Read AI":                             "Read.ai",
		"tl;dv":                               "tl;dv",
		"TLDV":                                "tl;dv",
		"Avoma":                               "Avoma",
		"Acme Gong Recorder":                  "Gong",
		"Gong Assistant":                      "Gong",
		"Chorus by ZoomInfo":                  "Chorus",
		"Grain Recorder":                      "Grain",
		"Sembly Agent":                        "Sembly",
		"Meet Geek":                           "MeetGeek",
		"MeetGeek AI Assistant":               "MeetGeek",
		"Fellow Notetaker":                    "Fellow",
		"Krisp":                               "Krisp",
		"Jamie AI":                            "Jamie",
		"Supernormal":                         "Supernormal",
		"Vexa Bot 12":                         "Vexa",
		"James' Notetaker":                    "Notetaker",
		"Anna´s Notetaker":                    "Notetaker",
		"Acme AI-Notetaker":                   "Notetaker",
		"Notetaker":                           "Notetaker",
		"Meeting Notetaker":                   "Notetaker",
		"Berg Meeting Notes Bot":              "Notetaker",
		"🤖 Otter.ai":                          "Otter.ai",
		"  Otter\u00a0Pilot  ":                "Otter.ai",
		"[Otter.ai]":                          "Otter.ai",
		"Otter.ai™":                           "Otter.ai",
		strings.Repeat("x ", 100) + "tldv.io": "tl;dv",
	} {
		if known, ok := list.Match(name); known != want || ok != (want != "") {
			t.Errorf("%q matches %q, want %q", name, known, want)
		}
	}
}

func TestMatchFoldsLookAlikes(t *testing.T) {
	t.Parallel()
	list := builtIn(t)
	for name, want := range map[string]string{
		"Оttеr.аі":                               "Otter.ai", // Cyrillic О, е, а, і
		"ΟΤΤΕR ΡΙLΟΤ":                            "Otter.ai", // Greek
		"Ｏｔｔｅｒ．ａｉ":                               "Otter.ai", // full-width
		"𝓞𝓽𝓽𝓮𝓻 𝓟𝓲𝓵𝓸𝓽":                            "Otter.ai", // mathematical
		"ⓄⓉⓉⒺⓇ ⓅⒾⓁⓄⓉ":                            "Otter.ai", // circled
		"🅾🆃🆃🅴🆁🅿🅸🅻🅾🆃":                             "Otter.ai", // squared, which do not decompose
		"ᴏᴛᴛᴇʀ ᴘɪʟᴏᴛ":                            "Otter.ai", // small capitals
		"0tter Pi1ot":                            "Otter.ai", // digits
		"OtterPiIot":                             "Otter.ai", // I for l
		"Fathorn Notetaker":                      "Fathom",   // rn for m
		"FirefIies.ai Notetaker":                 "Fireflies.ai",
		"Öttér Pílöt":                            "Otter.ai", // accents
		"O\u200bt\u200dt\u2060er\ufeff.\u00adai": "Otter.ai", // zero-width
		"\u202eOtter\u202c.ai\u200f":             "Otter.ai", // bidirectional
		"O\u0336t\u0336t\u0336e\u0336r\u0336.ai": "Otter.ai", // struck through
		"Anna's \u3164Notetaker":                 "Notetaker",
		"Аvоmа":                                  "Avoma",
		"ｔｌ；ｄｖ":                                  "tl;dv",
		"read。ai":                                "Read.ai",
	} {
		if known, ok := list.Match(name); known != want || !ok {
			t.Errorf("%q (%+q) matches %q, want %q", name, name, known, want)
		}
	}
}

// TestMatchLeavesPeopleAlone checks names of people that resemble notetakers.
func TestMatchLeavesPeopleAlone(t *testing.T) {
	t.Parallel()
	list := builtIn(t)
	for _, name := range []string{
		"", " ", "|", "🤖", "'s", "...",
		"Otto Otter", "Otter", "Mia Otter (Guest)", "Otterson", "Anna Otter, AI Lab", "Otto Otter – AI",
		"Jamie Fellow", "Jamie", "Jamie (AI)", "A. Jamie Fellow",
		"Anna Read", "Anna Read (AI)", "Anna Read | AI", "Anna Read AI Lab", "Rea Dai", "Read", "Al Read",
		"Wei Gong", "Gong Li", "Wei Gong Assistant Professor", "Wei Gong, Recorder",
		"Grainne", "Gráinne O'Grain", "Grain", "Chorus Line", "Fathom", "Ann Fathom",
		"Fred Fireflies", // may be a person; the product uses Fireflies.ai
		"Sam (Fireflies.ai)", "Sam from Otter.ai", "Sam - Avoma", "Sam | tl;dv",
		"Notetakers Anonymous fan", "Notetakers", "Anna (Notetaker)", "Anna S. (Notetaker)", "Notetaker - Anna", "Anna, note taker",
		"Nyota Uhura", "Sybil", "Sybill Vane", "Kaia", "Attendee", "Attendee 12", "Lindy", "Wingman",
		"Standin", "Standin demo", // two bots would both leave
		"Zoom AI Companion", "Copilot", "Gemini",
		"Отто", "Анна Чтец", "山田太郎", "أنا", "O'Brien", "Krispin Jones", "Avomaria", "Vexana",
	} {
		if known, ok := list.Match(name); ok || known != "" {
			t.Errorf("%q matches %q", name, known)
		}
	}
}

func TestWithoutNeverCountsTheBotItself(t *testing.T) {
	t.Parallel()
	const long = "Acme Quarterly Planning and Review AI Notetaker of the Berlin Office"
	for _, test := range []struct {
		own, seen string
		counts    bool
	}{
		{"Acme AI Notetaker", "Acme AI Notetaker", false},
		{"Acme AI Notetaker", "acme ai notetaker (You)", false},
		{"Acme AI Notetaker", "Anna's AI Notetaker", true},
		{long, long[:50], false}, // truncated by a platform
		{"Notetaker of Acme", "Notetaker", true},
		{"", "Notetaker", true},
		{"Standin", "Otter.ai", true},
	} {
		list := builtIn(t).Without(test.own)
		if known, ok := list.Match(test.seen); ok != test.counts {
			t.Errorf("with the own name %q, %q matches %q", test.own, test.seen, known)
		}
	}
}
