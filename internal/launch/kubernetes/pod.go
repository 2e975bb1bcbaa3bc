package kubernetes

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/yaml"

	"standin/internal/launch"
)

// The label by which an operator's policies select the pods of bots.
const (
	labelApp = "app.kubernetes.io/name"
	appName  = "standin-bot"
)

// Names and paths in a bot's pod.
const (
	containerName = "bot"
	spoolDir      = "/var/spool/standin" // also the bot's folder
	configDir     = "/run/standin"
	configVolume  = "config"
)

// spoolMargin is what a bot may write beside the media in its spool, in MiB. A bot that exceeds
// the volume is evicted.
const spoolMargin = 1024

var pullPolicies = map[launch.Pull]corev1.PullPolicy{
	launch.PullMissing: corev1.PullIfNotPresent, launch.PullAlways: corev1.PullAlways, launch.PullNever: corev1.PullNever,
}

// extraDeadline is the time that a bot gets beyond its meeting's maximum: to
// start, to pack its recording and to upload it.
const extraDeadline = 4 * time.Hour

// labels returns the labels of an attempt's pod and Secret.
func (l *Launcher) labels(key launch.Key) labels.Set {
	all := l.Labels(key)
	all[labelApp] = appName
	return all
}

// newPod describes a bot's pod: the operator's template, overridden with the
// bot's container and the restrictions of the restricted Pod Security Standard. It
// is not scheduled while its Secret does not exist.
func (l *Launcher) newPod(a launch.Assignment, secret string) *corev1.Pod {
	base := new(corev1.PodTemplateSpec)
	if l.Template != nil {
		base = l.Template.DeepCopy()
	}
	labels := l.labels(a.Key())
	for name, value := range base.Labels {
		if _, ours := labels[name]; !ours {
			labels[name] = value
		}
	}
	spec := base.Spec
	spec.SchedulingGates = []corev1.PodSchedulingGate{{Name: "standin.dev/configuration"}}
	deadline := extraDeadline + time.Duration(a.AutoLeave.AfterEntryDelaySeconds+a.AutoLeave.AfterMaxSeconds)*time.Second
	spec.ActiveDeadlineSeconds = new(int64(deadline / time.Second))
	spec.RestartPolicy = corev1.RestartPolicyNever
	spec.AutomountServiceAccountToken, spec.EnableServiceLinks = new(false), new(false)
	spec.HostNetwork, spec.HostPID, spec.HostIPC = false, false, false
	spec.TerminationGracePeriodSeconds = new(int64(l.LeaveTime / time.Second))
	user, group, _ := l.UserIDs() // New has checked it
	seccomp := &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	if l.Seccomp != "" {
		seccomp = &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: &l.Seccomp}
	}
	spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: new(true), RunAsUser: &user, RunAsGroup: &group, FSGroup: &group, SeccompProfile: seccomp,
	}
	empty := func(name string, medium corev1.StorageMedium, mebibytes int) corev1.Volume {
		source := &corev1.EmptyDirVolumeSource{Medium: medium, SizeLimit: resource.NewQuantity(int64(mebibytes)<<20, resource.BinarySI)}
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: source}}
	}
	config := &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: new(int32(0o440))}
	spec.Volumes = append(spec.Volumes,
		corev1.Volume{Name: configVolume, VolumeSource: corev1.VolumeSource{Secret: config}},
		empty("spool", corev1.StorageMediumDefault, cmp.Or(l.Bot.SpoolMiB, 8192)+spoolMargin),
		empty("tmp", corev1.StorageMediumDefault, 1024),
		empty("shm", corev1.StorageMediumMemory, 1024),
	)
	isBot := func(c corev1.Container) bool { return c.Name == containerName }
	at := slices.IndexFunc(spec.Containers, isBot)
	if at < 0 {
		at = len(spec.Containers)
		spec.Containers = append(spec.Containers, corev1.Container{Name: containerName})
	}
	c := &spec.Containers[at]
	c.Image, c.ImagePullPolicy = l.Image, pullPolicies[l.Pull]
	c.Args = append(slices.Clone(l.Command), "--config", path.Join(configDir, launch.ConfigFile))
	c.Env = append(c.Env, corev1.EnvVar{Name: "HOME", Value: "/tmp"}, corev1.EnvVar{Name: "TMPDIR", Value: "/tmp"})
	c.VolumeMounts = append(c.VolumeMounts,
		corev1.VolumeMount{Name: configVolume, MountPath: configDir, ReadOnly: true},
		corev1.VolumeMount{Name: "spool", MountPath: spoolDir},
		corev1.VolumeMount{Name: "tmp", MountPath: "/tmp"},
		corev1.VolumeMount{Name: "shm", MountPath: "/dev/shm"},
	)
	c.SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), Privileged: new(false), ReadOnlyRootFilesystem: new(true),
		RunAsNonRoot: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	// The pod's status includes the end of a failed bot's log, so the launcher
	// needs no permission to read logs.
	c.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	c.Resources.Requests = withQuantities(c.Resources.Requests, l.CPURequest, l.MemoryRequest)
	c.Resources.Limits = withQuantities(c.Resources.Limits, l.CPULimit, l.MemoryLimit)
	annotations := map[string]string{ // autoscalers that make room do not end meetings
		"cluster-autoscaler.kubernetes.io/safe-to-evict": "false", "karpenter.sh/do-not-disrupt": "true",
	}
	maps.Copy(annotations, base.Annotations)
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: l.Name(a.Key()), Labels: labels, Annotations: annotations}, Spec: spec}
}

// withQuantities replaces the quantities of a template that are set.
func withQuantities(template corev1.ResourceList, cpu, memory resource.Quantity) corev1.ResourceList {
	all := corev1.ResourceList{}
	maps.Copy(all, template)
	if !cpu.IsZero() {
		all[corev1.ResourceCPU] = cpu
	}
	if !memory.IsZero() {
		all[corev1.ResourceMemory] = memory
	}
	return all
}

// ReadPodTemplate reads the operator's base of all bot pods, a PodTemplateSpec in
// YAML. It refuses unknown fields.
func ReadPodTemplate(path string) (*corev1.PodTemplateSpec, error) {
	content, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read the bots' pod template: %w", err)
	}
	template := new(corev1.PodTemplateSpec)
	if err := yaml.UnmarshalStrict(content, template); err != nil {
		return nil, fmt.Errorf("read the bots' pod template %s: %w", path, err)
	}
	return template, nil
}
