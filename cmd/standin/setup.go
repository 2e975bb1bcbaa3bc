package main

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"standin/internal/account"
)

type setupCommand struct {
	newDataFlags
	Email  string `required:"" help:"Email address of the first user, who is an operator."`
	Team   string `required:"" help:"Name of the team of the user, which is created if it does not exist."`
	Name   string `help:"Name of the user. Default: the email address."`
	Domain string `placeholder:"standin.example.com" help:"Public name of the service: prints the configuration of a reverse proxy with TLS."`
}

// Run creates the user and prints what to do next.
func (c *setupCommand) Run(ctx context.Context, to terminal) error {
	if c.Domain != "" {
		if parsed, err := url.Parse("https://" + c.Domain); err != nil || parsed.Hostname() != c.Domain {
			return fmt.Errorf("%q is not the name of a host, such as standin.example.com", c.Domain)
		}
	}
	s, err := c.ProvideStore(ctx, to)
	if err != nil {
		return err
	}
	users := account.NewUsers(account.UserSettings{Store: s, Now: time.Now})
	if exists, err := s.HasUsers(ctx); err != nil {
		return err
	} else if exists {
		return &hint{errors.New("this service has users"), exitFailed, "Run standin users invite to add another one."}
	}
	password, err := readPassword(to)
	if err != nil {
		return err
	}
	token, _, err := users.FirstUserToken(ctx)
	if err != nil {
		return err
	}
	user, err := users.Accept(ctx, token, account.NewUser{
		Name: cmp.Or(c.Name, c.Email), Email: c.Email, Consumer: c.Team, Password: password,
	})
	if err != nil {
		return err
	}
	fmt.Fprintf(to.Out, "created the user %s of the team %s\n", user.Email, c.Team)
	if c.Domain != "" {
		fmt.Fprintf(to.Out, proxySnippets, c.Domain)
	}
	return nil
}

// readPassword asks for a password on a terminal, or reads a line of standard input.
func readPassword(to terminal) (string, error) {
	const longest = 4 << 10
	if input := int(os.Stdin.Fd()); term.IsTerminal(input) {
		fmt.Fprint(to.Err, "Password: ")
		password, err := term.ReadPassword(input)
		fmt.Fprintln(to.Err)
		if err != nil {
			return "", fmt.Errorf("read the password: %w", err)
		}
		return string(password), nil
	}
	row, err := bufio.NewReader(io.LimitReader(os.Stdin, longest)).ReadString('\n')
	if err != nil && !errors.Is(err, io.EOF) {
		return "", fmt.Errorf("read the password: %w", err)
	}
	return strings.TrimRight(row, "\r\n"), nil
}

// proxySnippets configure reverse proxies with TLS for a domain.
const proxySnippets = `
1. Set these for standin serve, and restart it:

    STANDIN_BASE_URL=https://%[1]s
    STANDIN_TRUSTED_PROXIES=1

2. Put a proxy with TLS before it. Caddy gets a certificate by itself:

    %[1]s {
        reverse_proxy 127.0.0.1:8080 {
            flush_interval -1
        }
    }

   nginx:

    server {
        listen 443 ssl;
        server_name %[1]s;
        ssl_certificate     /etc/letsencrypt/live/%[1]s/fullchain.pem;
        ssl_certificate_key /etc/letsencrypt/live/%[1]s/privkey.pem;
        client_max_body_size 0;
        location / {
            proxy_pass http://127.0.0.1:8080;
            proxy_http_version 1.1;
            proxy_request_buffering off;
            proxy_buffering off;
            proxy_read_timeout 1h;
            proxy_set_header Connection "";
            proxy_set_header Host $host;
            proxy_set_header X-Forwarded-For $remote_addr;
            proxy_set_header X-Forwarded-Proto https;
        }
    }

3. Sign in at https://%[1]s
`
