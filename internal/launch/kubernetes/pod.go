package kubernetes

import (
	"fmt"
	"maps"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/google/uuid"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"standin/internal/launch"
)

// Labels by which Jobs and pods are found again. None of them is a secret.
const (
	labelApp      = "app.kubernetes.io/name"
	labelInstance = "standin-instance"
	labelJob      = "standin-job"
	labelAttempt  = "standin-attempt"

	appName = "standin-bot"
)

// Places in a bot's container.
const (
	containerName = "bot"
	spoolDir      = "/var/spool/standin"
	taskDir       = "/run/standin"
	taskFile      = "task"
)

// beyond is how long a bot may take beside its meeting: to start, to pack its
// recording and to hand it in.
const beyond = 4 * time.Hour

// name is the one that an attempt's Job has: the cluster gives it once.
func (l *Launcher) name(key launch.Key) string {
	return fmt.Sprintf("standin-%s-%s-%d", l.settings.Instance, key.JobID, key.Attempt)
}

// mine are the labels of all that belongs to this instance.
func (l *Launcher) mine() map[string]string {
	return map[string]string{labelInstance: l.settings.Instance}
}

// labels are those of an attempt's Job and of its pod.
func (l *Launcher) labels(key launch.Key) map[string]string {
	return map[string]string{
		labelApp: appName, labelInstance: l.settings.Instance,
		labelJob: key.JobID.String(), labelAttempt: strconv.Itoa(key.Attempt),
	}
}

// keyOf reads whose bot it is; false when it is none of this instance's.
func (l *Launcher) keyOf(labels map[string]string) (launch.Key, bool) {
	jobID, err := uuid.Parse(labels[labelJob])
	if err != nil || labels[labelInstance] != l.settings.Instance {
		return launch.Key{}, false
	}
	attempt, err := strconv.Atoi(labels[labelAttempt])
	return launch.Key{JobID: jobID, Attempt: attempt}, err == nil
}

// job describes an attempt's Job: one pod, once. It is suspended until its
// secret is there.
func (l *Launcher) job(a launch.Assignment) *batchv1.Job {
	key := launch.Key{JobID: a.JobID, Attempt: a.Attempt}
	ended := int32(l.settings.KeepEnded / time.Second)
	deadline := int64(beyond/time.Second) + int64(a.AutoLeave.AfterEntryDelaySeconds) + int64(a.AutoLeave.AfterMaxSeconds)
	failed := batchv1.Failed
	return &batchv1.Job{
		ObjectMeta: metav1.ObjectMeta{Name: l.name(key), Labels: l.labels(key)},
		Spec: batchv1.JobSpec{
			Suspend: new(true), Parallelism: new(int32(1)), Completions: new(int32(1)),
			BackoffLimit: new(int32(0)), PodReplacementPolicy: &failed,
			TTLSecondsAfterFinished: &ended, ActiveDeadlineSeconds: &deadline,
			Template: l.pod(key, l.name(key)+"-"+uuid.NewString()[:8]),
		},
	}
}

// secretOf is the name of the secret that a Job's pod waits for.
func secretOf(job *batchv1.Job) string {
	for _, volume := range job.Spec.Template.Spec.Volumes {
		if volume.Name == "task" && volume.Secret != nil {
			return volume.Secret.SecretName
		}
	}
	return ""
}

// secret describes the secret with a bot's task. It belongs to the Job, and
// goes with it.
func (l *Launcher) secret(job *batchv1.Job, task []byte) *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Name: secretOf(job), Labels: job.Labels,
			OwnerReferences: []metav1.OwnerReference{{
				APIVersion: batchv1.SchemeGroupVersion.String(), Kind: "Job", Name: job.Name, UID: job.UID,
			}},
		},
		Immutable: new(true),
		Data:      map[string][]byte{taskFile: task},
	}
}

// pod describes a bot's pod: the operator's template, with what a bot needs
// and what it must not have laid over it. It keeps to the restricted Pod
// Security Standard.
func (l *Launcher) pod(key launch.Key, secret string) corev1.PodTemplateSpec {
	var pod corev1.PodTemplateSpec
	if l.settings.Template != nil {
		pod = *l.settings.Template.DeepCopy()
	}
	if pod.Labels == nil {
		pod.Labels = make(map[string]string)
	}
	maps.Copy(pod.Labels, l.labels(key))
	spec := &pod.Spec
	spec.RestartPolicy = corev1.RestartPolicyNever
	spec.AutomountServiceAccountToken, spec.EnableServiceLinks = new(false), new(false)
	spec.HostNetwork, spec.HostPID, spec.HostIPC = false, false, false
	spec.TerminationGracePeriodSeconds = new(int64(l.settings.LeaveTime / time.Second))
	spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: new(true), RunAsUser: &l.settings.User, RunAsGroup: &l.settings.Group, FSGroup: &l.settings.Group,
		SeccompProfile: l.seccomp(),
	}
	spec.Volumes = append(spec.Volumes, l.volumes(secret)...)
	at := slices.IndexFunc(spec.Containers, func(c corev1.Container) bool { return c.Name == containerName })
	if at < 0 {
		spec.Containers = append(spec.Containers, corev1.Container{Name: containerName})
		at = len(spec.Containers) - 1
	}
	l.fill(&spec.Containers[at])
	return pod
}

// fill makes a container a bot's.
func (l *Launcher) fill(c *corev1.Container) {
	c.Image, c.ImagePullPolicy, c.Args = l.settings.Image, l.settings.Pull, l.settings.Command
	c.Env = append(c.Env,
		corev1.EnvVar{Name: launch.EnvTask, Value: path.Join(taskDir, taskFile)},
		corev1.EnvVar{Name: "HOME", Value: "/tmp"}, corev1.EnvVar{Name: "TMPDIR", Value: "/tmp"},
	)
	c.VolumeMounts = append(c.VolumeMounts,
		corev1.VolumeMount{Name: "task", MountPath: taskDir, ReadOnly: true},
		corev1.VolumeMount{Name: "spool", MountPath: spoolDir},
		corev1.VolumeMount{Name: "tmp", MountPath: "/tmp"},
		corev1.VolumeMount{Name: "shm", MountPath: "/dev/shm"},
	)
	c.SecurityContext = &corev1.SecurityContext{
		AllowPrivilegeEscalation: new(false), Privileged: new(false), ReadOnlyRootFilesystem: new(true),
		RunAsNonRoot: new(true), Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
	}
	// The end of a bot's log comes with its status: no right to read logs is
	// needed for it.
	c.TerminationMessagePolicy = corev1.TerminationMessageFallbackToLogsOnError
	given := l.settings.Resources
	c.Resources.Requests = quantities(c.Resources.Requests, given.CPURequest, given.MemoryRequest)
	c.Resources.Limits = quantities(c.Resources.Limits, given.CPULimit, given.MemoryLimit)
}

// quantities lays what is set over what a template has.
func quantities(list corev1.ResourceList, cpu, memory resource.Quantity) corev1.ResourceList {
	for name, quantity := range map[corev1.ResourceName]resource.Quantity{corev1.ResourceCPU: cpu, corev1.ResourceMemory: memory} {
		if quantity.IsZero() {
			continue
		}
		if list == nil {
			list = make(corev1.ResourceList)
		}
		list[name] = quantity
	}
	return list
}

// seccomp is the profile that a bot runs under.
func (l *Launcher) seccomp() *corev1.SeccompProfile {
	if l.settings.Seccomp == "" {
		return &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault}
	}
	return &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeLocalhost, LocalhostProfile: &l.settings.Seccomp}
}

// volumes are where a bot may write, and its task.
func (l *Launcher) volumes(secret string) []corev1.Volume {
	empty := func(name string, medium corev1.StorageMedium, size resource.Quantity) corev1.Volume {
		source := &corev1.EmptyDirVolumeSource{Medium: medium}
		if !size.IsZero() {
			source.SizeLimit = &size
		}
		return corev1.Volume{Name: name, VolumeSource: corev1.VolumeSource{EmptyDir: source}}
	}
	given := l.settings.Resources
	return []corev1.Volume{
		{Name: "task", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: secret, DefaultMode: new(int32(0o440))}}},
		empty("spool", corev1.StorageMediumDefault, given.Spool),
		empty("tmp", corev1.StorageMediumDefault, given.Tmp),
		empty("shm", corev1.StorageMediumMemory, given.Shm),
	}
}

// dir is the bot's folder in its container. Its pod is never another's.
func dir() string { return spoolDir }
