package notetaker

// lookalikes are the Latin letters or digits of similar letters. The table holds the letters
// and digits of Unicode's confusables (UTS #39), plus small capitals, letters
// with a stroke, and lower-case Greek and Cyrillic letters that resemble a Latin
// capital. Full-width, mathematical, circled and accented forms are not in the
// table, because they decompose into letters that are.
var lookalikes = func() map[rune]rune {
	table := make(map[rune]rune)
	for latin, others := range map[rune]string{
		'2': "ƧϨᒿꙄꛯꝚ",
		'3': "ƷȜЗӠⳌꝪꞫ",
		'4': "Ꮞ",
		'5': "Ƽ",
		'6': "бᏮⳒ",
		'8': "Ȣȣ৪੪",
		'9': "৭੧୨൭ⳊꝮ",
		'a': "ɑΑαАаᎪᗅꓮ",
		'b': "ƄΒВЬᏏᏴᑲᖯᗷꓐꞴʙƀɃвβ",
		'c': "СсᏟᴄⲤⲥꓚꮯϲϹς",
		'd': "ԁᎠᏧᑯᗞᗪꓒꓓᴅđĐɖ",
		'e': "ΕЕеҽᎬⴹꓰꬲᴇɛεє",
		'f': "ϜքᖴẝꓝꞘꞙꬵꜰ",
		'g': "ƍɡԌցᏀᏳᶃꓖɢ",
		'h': "ΗНһհᎻᏂᕼⲎꓧʜнħĦ",
		'i': "ıɩɪιіӏᎥꙇꭵɨ",
		'j': "ͿϳЈјᎫᒍꓙꞲᴊ",
		'k': "ΚКᏦᛕⲔꓗᴋκк",
		'l': "ƖǀΙІӀ۱ᏞᒪᛁⲒⳐⵏꓡꓲʟłŁ",
		'm': "ΜϺМᎷᗰᛖⲘꓟᴍм",
		'n': "ΝոռⲚꓠɴηпŋŊ",
		'o': "ΟοσОоՕօ۵०০੦૦ଠ୦௦౦೦ഠ൦๐໐ဝ၀ჿዐᴏᴑⲞⲟⵔ〇ꓳꬽøØ",
		'p': "ΡρРрᏢᑭⲢⲣꓑᴘϱ",
		'q': "ԛգզⵕ",
		'r': "ƦгᎡᏒᖇᴦⲅꓣꭇꭈꮁʀ",
		's': "ƽЅѕՏᏕᏚꓢꜱꮪ",
		't': "ΤТᎢⲦꓔᴛтτŧŦ",
		'u': "ʋυՍսሀᑌᴜꓴꞟꭎꭒ",
		'v': "νѴѵ۷Ꮩᐯᴠⴸꓦꛟꮩ",
		'w': "ɯѡԜԝաᎳᏔᴡꓪꮃ",
		'x': "ΧХхᕁᕽᚷⲬⵝꓫꞳχ",
		'y': "ɣʏΥγУуҮүყᎩᎽᶌỿⲨꓬꭚϒ",
		'z': "ΖᏃᴢꓜꮓƶƵ",
		'.': "。․﹒．｡",
	} {
		for _, other := range others {
			table[other] = latin
		}
	}
	return table
}()
