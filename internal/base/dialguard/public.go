package dialguard

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"

	"standin/internal/base/text"
)

// Public describes to a consumer why a request to a server failed. It leaves out the URL,
// whose query may contain secrets, and every address and name server, which would show the
// network of the service.
func Public(err error) string {
	message := strings.TrimPrefix(WithoutURL(err).Error(), "net/http: HTTP/1.x transport connection broken: ")
	var refused *RefusedError
	var unknown *net.DNSError
	var failed *net.OpError
	switch {
	case errors.As(err, &refused) && refused.Address == "":
		message = refused.Error()
	case errors.As(err, &refused):
		message = fmt.Sprintf("host %q is refused: it has a %s address; %s lists the networks that are allowed",
			refused.Host, refused.Kind, AllowSetting)
	case errors.As(err, &unknown) && unknown.IsNotFound:
		message = fmt.Sprintf("lookup %s: no such host", unknown.Name)
	case errors.As(err, &unknown):
		message = fmt.Sprintf("lookup %s: the name server did not answer", unknown.Name)
	case errors.As(err, new(*tls.CertificateVerificationError)):
		message = "the certificate of the server is not valid"
	case errors.As(err, &failed):
		message = failed.Op + ": " + failed.Err.Error()
	case errors.Is(err, context.DeadlineExceeded):
		message = "it took too long"
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		message = "the connection was closed without a response"
	}
	return text.CleanLine(message, 300)
}

// AllowSetting is the setting that lists the networks which consumers may name.
const AllowSetting = "STANDIN_WEBHOOK_ALLOW_CIDRS"
