package meeting

import (
	"context"
	"testing"

	"standin/internal/bot/browser"
	"standin/internal/job"
)

// spoken are sentences and labels of pages in a language.
type spoken struct {
	lobby, denied, removed, ended, hostAbsent string
	join, leave                               string   // labels
	muted                                     []string // labels of Meet's devices that are on
	terms                                     []string // of a dialog: the button that agrees, and the one that does not
}

// languages are the languages beside those of other tests.
func languages() map[string]spoken {
	return map[string]spoken{
		"pt":      {"Aguarde, alguém vai deixar entrar em breve", "Seu pedido foi negado", "Você foi removido da reunião", "O anfitrião encerrou a reunião", "Aguardando o anfitrião", "Pedir para participar", "Sair da chamada", []string{"Desativar microfone", "Desativar a câmera"}, []string{"Concordo", "Cancelar"}},
		"fr":      {"Quelqu'un vous laissera entrer bientôt", "Votre demande a été refusée", "Vous avez été exclu de la réunion", "L'organisateur a mis fin à la réunion", "En attente de l'hôte", "Demander à participer", "Quitter l'appel", []string{"Désactiver le micro", "Désactiver la caméra"}, []string{"J'accepte", "Annuler"}},
		"it":      {"Attendi che qualcuno ti faccia entrare", "La tua richiesta è stata rifiutata", "Sei stato rimosso dalla riunione", "L'organizzatore ha terminato la riunione", "In attesa dell'organizzatore", "Chiedi di partecipare", "Abbandona chiamata", []string{"Disattiva microfono", "Disattiva fotocamera"}, []string{"Accetto", "Annulla"}},
		"nl":      {"Wacht tot iemand je binnenlaat", "Je verzoek is afgewezen", "Je bent verwijderd uit de vergadering", "De host heeft de vergadering beëindigd", "Wachten op de host", "Deelname vragen", "Gesprek verlaten", []string{"Microfoon uitzetten", "Camera uitzetten"}, []string{"Akkoord", "Annuleren"}},
		"pl":      {"Poczekaj, aż ktoś Cię wpuści", "Twoja prośba została odrzucona", "Usunięto Cię ze spotkania", "Gospodarz zakończył spotkanie", "Oczekiwanie na gospodarza", "Poproś o dołączenie", "Opuść rozmowę", []string{"Wyłącz mikrofon", "Wyłącz kamerę"}, []string{"Zgadzam się", "Anuluj"}},
		"tr":      {"Birisi sizi içeri alacak", "İsteğiniz reddedildi", "Toplantıdan çıkarıldınız", "Toplantı sona erdi", "Toplantı sahibi bekleniyor", "Katılma isteği gönder", "Aramadan ayrıl", []string{"Mikrofonu kapat", "Kamerayı kapat"}, []string{"Kabul ediyorum", "İptal"}},
		"ko":      {"호스트가 수락하면 참여할 수 있습니다. 대기실", "참여 요청이 거부되었습니다", "회의에서 삭제되었습니다", "회의가 종료되었습니다", "호스트를 기다리는 중", "지금 참여하기", "통화에서 나가기", []string{"마이크 끄기", "카메라 끄기"}, []string{"동의", "취소"}},
		"zh-Hans": {"请稍候，会议主持人很快会让您进入", "您的请求被拒绝", "您已被移出会议", "会议已结束", "等待主持人", "请求加入", "退出通话", []string{"关闭麦克风", "关闭摄像头"}, []string{"同意", "取消"}},
		"zh-Hant": {"請稍候，主持人很快會讓您進入", "您的要求已遭拒絕", "您已被移出會議", "會議已結束", "等待主持人", "要求加入", "離開通話", []string{"關閉麥克風", "關閉攝影機"}, []string{"同意", "取消"}},
		"hi":      {"कोई आपको जल्द ही शामिल होने देगा", "आपका अनुरोध अस्वीकार कर दिया गया", "आपको मीटिंग से हटा दिया गया है", "मीटिंग समाप्त हो गई है", "होस्ट का इंतज़ार है", "शामिल होने के लिए कहें", "कॉल छोड़ें", []string{"माइक्रोफ़ोन बंद करें", "कैमरा बंद करें"}, []string{"सहमत", "रद्द करें"}},
	}
}

// TestLanguages checks the words of pages in several languages, before and after
// admission.
func TestLanguages(t *testing.T) {
	t.Parallel()
	profile := siteOf(t, job.Meet).profile
	for language, words := range languages() {
		for _, c := range []struct {
			text string
			past History
			want Screen
		}{
			{words.lobby, waiting, Lobby}, {words.denied, waiting, Denied}, {words.removed, in, Removed},
			{words.ended, in, Ended}, {words.hostAbsent, waiting, HostAbsent},
		} {
			snapshot := showing(t, profile, nil)
			snapshot.Outline.Headings, snapshot.Outline.Texts = []string{c.text}, []string{c.text}
			if found := profile.classify(snapshot, c.past); found.screen != c.want {
				t.Errorf("%s: %q is %s by %+v, want %s", language, c.text, found.screen, found.evidence, c.want)
			}
		}
		// The way home, which every page has, says less than the words.
		home := showing(t, profile, []string{returnHome})
		home.Outline.Headings, home.Outline.Texts = []string{words.removed}, []string{words.removed}
		if found := profile.classify(home, in); found.screen != Removed {
			t.Errorf("%s: %q with the way home is %s by %+v", language, words.removed, found.screen, found.evidence)
		}
		terms := Dialog{Text: "Example Inc.", Marked: true, Buttons: []DialogButton{button(words.terms[1]), button(words.terms[0])}}
		for _, stage := range []stage{beforeEntry, inLobby, inCall} {
			if got := safestButton(terms, stage); got != 1 {
				t.Errorf("%s: terms are answered by button %d", language, got)
			}
		}
	}
}

// testLanguages checks that the controls of Meet's pages are found by their labels.
func testLanguages(t *testing.T, ctx context.Context, running *browser.Browser) {
	page := openPage(t, ctx, running)
	for language, words := range languages() {
		html := `<main><button>` + words.join + `</button><button aria-label="` + words.leave + `">x</button>`
		for _, label := range words.muted {
			html += `<button aria-label="` + label + `">d</button>`
		}
		showDocument(t, ctx, page, html+`</main>`)
		snapshot := snapshotOf(t, ctx, siteOf(t, job.Meet), page)
		for _, element := range []string{joinButton, leaveButton, microphoneOn, cameraOn} {
			if !snapshot.clickable(element) {
				t.Errorf("%s: no %s in %s", language, element, html)
			}
		}
		for _, element := range []string{microphoneOff, cameraOff} {
			if snapshot.Visible(element) {
				t.Errorf("%s: %s in %s", language, element, html)
			}
		}
	}
	for _, label := range []string{"음소거 해제", "Dempen opheffen", "取消静音", "Ativar som"} {
		showDocument(t, ctx, page, `<button id=preview-audio-control-button>`+label+`</button>`)
		if snapshot := snapshotOf(t, ctx, siteOf(t, job.ZoomWeb), page); snapshot.Visible(microphoneOn) || !snapshot.Visible(microphoneOff) {
			t.Errorf("%q is not a microphone that is off: %+v", label, snapshot.Elements)
		}
	}
	for label, want := range map[string]string{"음소거": microphoneOn, "Dempen": microphoneOn, "静音": microphoneOn, "Mudo": microphoneOn, "Parar vídeo": cameraOn, "비디오 중지": cameraOn, "停止视频": cameraOn} {
		id := map[string]string{microphoneOn: "preview-audio-control-button", cameraOn: "preview-video-control-button"}[want]
		showDocument(t, ctx, page, `<button id=`+id+`>`+label+`</button>`)
		if snapshot := snapshotOf(t, ctx, siteOf(t, job.ZoomWeb), page); !snapshot.Visible(want) {
			t.Errorf("%q is not %s: %+v", label, want, snapshot.Elements)
		}
	}
}
