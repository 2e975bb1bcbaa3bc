package kubernetes

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

// accountDir is the folder in which a pod finds its account's credentials.
const accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// Config is the address of a cluster's API server and the credentials for it.
type Config struct {
	Host      string // as in https://10.0.0.1:443
	Token     string // bearer token; TokenFile has precedence
	TokenFile string // read for each request, because clusters replace tokens
	TLS       *tls.Config
	Proxy     *url.URL // default: the proxy of the environment
}

// FindCluster returns the configuration and namespace of the cluster: from the
// kubeconfig file if it is not empty, else from the environment of a pod, else
// from the files in KUBECONFIG or the user's default kubeconfig.
func FindCluster(kubeconfig string) (config *Config, namespace string, err error) {
	switch {
	case kubeconfig != "":
		config, namespace, err = readKubeconfigs(kubeconfig)
	case os.Getenv("KUBERNETES_SERVICE_HOST") != "":
		config, namespace, err = podConfig()
	default:
		paths := filepath.SplitList(os.Getenv("KUBECONFIG"))
		if home, homeErr := os.UserHomeDir(); len(paths) == 0 && homeErr == nil {
			paths = []string{filepath.Join(home, ".kube", "config")}
		}
		config, namespace, err = readKubeconfigs(paths...)
	}
	if err != nil {
		return nil, "", fmt.Errorf("find the Kubernetes cluster: %w", err)
	}
	return config, namespace, nil
}

// podConfig returns the configuration of a program in a pod.
func podConfig() (*Config, string, error) {
	roots, err := readRoots(filepath.Join(accountDir, "ca.crt"))
	if err != nil {
		return nil, "", err
	}
	namespace, err := os.ReadFile(filepath.Join(accountDir, "namespace"))
	if err != nil {
		return nil, "", err
	}
	host := net.JoinHostPort(os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT"))
	return &Config{
		Host: "https://" + host, TokenFile: filepath.Join(accountDir, "token"), TLS: &tls.Config{RootCAs: roots},
	}, strings.TrimSpace(string(namespace)), nil
}

// kubeconfig is the part of a kubeconfig file that FindCluster supports.
type kubeconfig struct {
	CurrentContext string `yaml:"current-context"`
	Contexts       []struct {
		Name    string
		Context struct{ Cluster, User, Namespace string }
	}
	Clusters []struct {
		Name    string
		Cluster kubeconfigCluster
	}
	Users []struct {
		Name string
		User kubeconfigUser
	}
}

type kubeconfigCluster struct {
	Server     string
	CA         string `yaml:"certificate-authority"`
	CAData     string `yaml:"certificate-authority-data"`
	Insecure   bool   `yaml:"insecure-skip-tls-verify"`
	ServerName string `yaml:"tls-server-name"`
	ProxyURL   string `yaml:"proxy-url"`
}

type kubeconfigUser struct {
	Token           string
	TokenFile       string `yaml:"tokenFile"`
	Certificate     string `yaml:"client-certificate"`
	CertificateData string `yaml:"client-certificate-data"`
	Key             string `yaml:"client-key"`
	KeyData         string `yaml:"client-key-data"`
	Exec            any
	Username        string
	AuthProvider    any `yaml:"auth-provider"`
}

// readKubeconfigs reads kubeconfig files. The first file that has an entry with
// a name wins, as in kubectl. Missing files are an error only if there is no
// other.
func readKubeconfigs(paths ...string) (*Config, string, error) {
	var merged kubeconfig
	var missing error
	read := 0
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if errors.Is(err, os.ErrNotExist) {
			missing = err
			continue
		}
		if err != nil {
			return nil, "", err
		}
		var file kubeconfig
		if err := yaml.Unmarshal(content, &file); err != nil {
			return nil, "", fmt.Errorf("%s: not a kubeconfig file", path) // the error of the library can quote credentials
		}
		file.resolve(filepath.Dir(path))
		if merged.CurrentContext == "" {
			merged.CurrentContext = file.CurrentContext
		}
		merged.Contexts = append(merged.Contexts, file.Contexts...)
		merged.Clusters = append(merged.Clusters, file.Clusters...)
		merged.Users = append(merged.Users, file.Users...)
		read++
	}
	if read == 0 {
		return nil, "", errors.Join(errors.New("there is no kubeconfig file, and this is not a pod"), missing)
	}
	return merged.config()
}

// resolve makes the paths in a kubeconfig file relative to its folder absolute.
func (k *kubeconfig) resolve(dir string) {
	absolute := func(path *string) {
		if *path != "" && !filepath.IsAbs(*path) {
			*path = filepath.Join(dir, *path)
		}
	}
	for i := range k.Clusters {
		absolute(&k.Clusters[i].Cluster.CA)
	}
	for i := range k.Users {
		user := &k.Users[i].User
		absolute(&user.TokenFile)
		absolute(&user.Certificate)
		absolute(&user.Key)
	}
}

// config returns the configuration of the current context.
func (k *kubeconfig) config() (*Config, string, error) {
	for _, named := range k.Contexts {
		if named.Name != k.CurrentContext {
			continue
		}
		cluster, err := k.cluster(named.Context.Cluster)
		if err != nil {
			return nil, "", err
		}
		user, err := k.user(named.Context.User)
		if err != nil {
			return nil, "", err
		}
		config := &Config{Host: strings.TrimRight(cluster.Server, "/"), Token: user.Token, TokenFile: user.TokenFile}
		if config.TLS, err = tlsConfig(cluster, user); err != nil {
			return nil, "", err
		}
		if cluster.ProxyURL != "" {
			if config.Proxy, err = url.Parse(cluster.ProxyURL); err != nil {
				return nil, "", errors.New("the kubeconfig's proxy-url is not a URL") // it may contain credentials
			}
		}
		namespace := named.Context.Namespace
		if namespace == "" {
			namespace = "default"
		}
		return config, namespace, nil
	}
	return nil, "", fmt.Errorf("the kubeconfig has no context %q", k.CurrentContext)
}

func (k *kubeconfig) cluster(name string) (kubeconfigCluster, error) {
	for _, named := range k.Clusters {
		if named.Name == name {
			if named.Cluster.Server == "" {
				return named.Cluster, fmt.Errorf("the kubeconfig's cluster %q has no server", name)
			}
			return named.Cluster, nil
		}
	}
	return kubeconfigCluster{}, fmt.Errorf("the kubeconfig has no cluster %q", name)
}

func (k *kubeconfig) user(name string) (kubeconfigUser, error) {
	for _, named := range k.Users {
		if named.Name == name {
			if named.User.Exec != nil || named.User.AuthProvider != nil || named.User.Username != "" {
				return named.User, fmt.Errorf("the kubeconfig's user %q signs in with a program or a password; only tokens and certificates are supported, such as the token of a service account", name)
			}
			return named.User, nil
		}
	}
	return kubeconfigUser{}, fmt.Errorf("the kubeconfig has no user %q", name)
}

// tlsConfig returns the certificates of a cluster and a user.
func tlsConfig(cluster kubeconfigCluster, user kubeconfigUser) (*tls.Config, error) {
	config := &tls.Config{
		ServerName:         cluster.ServerName,
		InsecureSkipVerify: cluster.Insecure, //nolint:gosec // the kubeconfig asks for it
	}
	authority, err := inlineOrFile(cluster.CAData, cluster.CA)
	if err != nil {
		return nil, err
	}
	if len(authority) > 0 {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(authority) {
			return nil, errors.New("the kubeconfig's certificate-authority is not a PEM certificate")
		}
	}
	certificate, certificateErr := inlineOrFile(user.CertificateData, user.Certificate)
	key, keyErr := inlineOrFile(user.KeyData, user.Key)
	if err := errors.Join(certificateErr, keyErr); err != nil {
		return nil, err
	}
	if len(certificate) > 0 {
		pair, err := tls.X509KeyPair(certificate, key)
		if err != nil {
			return nil, fmt.Errorf("the kubeconfig's client certificate: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// inlineOrFile decodes base64 data, or reads the file if there is none.
func inlineOrFile(data, path string) ([]byte, error) {
	switch {
	case data != "":
		decoded, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return nil, errors.New("a certificate or key in the kubeconfig is not base64")
		}
		return decoded, nil
	case path != "":
		return os.ReadFile(path)
	}
	return nil, nil
}

func readRoots(path string) (*x509.CertPool, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(content) {
		return nil, fmt.Errorf("%s has no PEM certificate", path)
	}
	return roots, nil
}

// transport returns an HTTP transport for the cluster.
func (c *Config) transport() *http.Transport {
	proxy := http.ProxyFromEnvironment
	if c.Proxy != nil {
		proxy = http.ProxyURL(c.Proxy)
	}
	return &http.Transport{
		Proxy: proxy, ForceAttemptHTTP2: true,
		TLSClientConfig:     c.TLS.Clone(), // the transport adds HTTP/2 to it, and others of the same Config may have HTTP/1 only
		DialContext:         (&net.Dialer{Timeout: 30 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		TLSHandshakeTimeout: 10 * time.Second, IdleConnTimeout: 90 * time.Second, MaxIdleConnsPerHost: 25,
		HTTP2: &http.HTTP2Config{SendPingTimeout: 30 * time.Second, PingTimeout: 15 * time.Second}, // finds broken connections of watches
	}
}
