package captions

import (
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"standin/internal/bot/meeting"
)

// TestReadReply: only a whole message is an answer.
func TestReadReply(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"yes": "yes", "Yes!": "yes", " YES. ": "yes", "ok": "yes", "Okay": "yes", "yes, please": "yes", "Sure 👍": "", "👍": "yes", "👍🏽": "yes",
		"go ahead": "yes", "Allow": "yes", "that’s fine": "yes", "No problem!": "yes", "yes\n": "yes",
		"no": "no", "No!!": "no", "no, thanks": "no", "Don’t": "no", "please don't record": "no", "👎": "no", "Not allowed.": "no",
		"stop recording": "no",
		"":               "", "...": "", "I said yes to lunch": "", "yesterday": "", "no idea": "", "know": "", "is it ok?": "",
		"ok so next topic": "",
		"ja, gerne":        "yes", "Nein, danke.": "no", "¡Claro que sí!": "yes", "Oui, bien sûr": "yes", "Não.": "no", "Sì, certo": "yes",
		"Geen probleem": "yes", "Nie zgadzam się!": "no", "Evet": "yes", "はい、どうぞ。": "yes", "아니요": "no", "不可以。": "no", "没问题！": "yes",
		"نعم، تفضل": "yes", "לא, תודה": "no", "हाँ": "yes", "बिल्कुल नहीं": "no", "D’accord !": "yes", "पता नहीं": "",
		"yes or no": "", "notes": "", "yes no": "", "record": "",
		strings.Repeat("yes ", 500): "",
	} {
		granted, ok := readReply(text)
		got := map[bool]string{true: "yes", false: "no"}[granted]
		if !ok {
			got = ""
		}
		if got != want {
			t.Errorf("%.40q is read as %q, want %q", text, got, want)
		}
	}
	grants, refuses := meeting.Replies()
	for _, text := range refuses { // in every language
		if granted, ok := readReply(text + "!"); granted || !ok {
			t.Errorf("%q is read as %t, %t", text, granted, ok)
		}
	}
	for _, text := range grants {
		if granted, _ := readReply(strings.ToUpper(text)); !granted && normalizeReply(strings.ToUpper(text)) == normalizeReply(text) {
			t.Errorf("%q is no consent", text)
		}
	}
}

// FuzzReadReply checks that no text with a refusing word is a consent, and that case and
// punctuation around a text change nothing.
func FuzzReadReply(f *testing.F) {
	for _, text := range []string{"Yes!", "no\u200b", "that\u2019s fine", "\U0001F44D\U0001F3FD", "no problem", "yes\n\nno", "\xff ok"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		granted, ok := readReply(text)
		words := strings.Fields(normalizeReply(text))
		if granted && (slices.Contains(words, "not") || slices.Contains(words, "don't") || slices.Contains(words, "no") && words[0] != "no") {
			t.Errorf("%q is a consent", text)
		}
		if again, still := readReply("... " + strings.ToUpper(strings.ToLower(text)) + " !"); ok && (again != granted || !still) &&
			utf8.ValidString(text) {
			t.Errorf("%q is read as %t, %t and in another form as %t, %t", text, granted, ok, again, still)
		}
	})
}
