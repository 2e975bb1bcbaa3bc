package kubernetes

import (
	"cmp"
	"encoding/base64"
	"maps"
	"path"
	"strconv"
	"time"

	"github.com/google/uuid"

	"standin/internal/launch"
)

// Labels that identify a bot's Job and pod. They hold no secrets.
const (
	labelApp      = "app.kubernetes.io/name"
	labelInstance = "standin-instance"
	labelJob      = "standin-job"
	labelAttempt  = "standin-attempt"

	appName = "standin-bot"
)

// Names and paths in a bot's pod.
const (
	containerName = "bot"
	spoolDir      = "/var/spool/standin" // also the bot's folder
	configDir     = "/run/standin"
	configVolume  = "config"
)

// extraDeadline is the time that a bot gets beyond its meeting's maximum: to
// start, to pack its recording and to upload it.
const extraDeadline = 4 * time.Hour

// labels returns the labels of an attempt's Job and pod.
func (l *Launcher) labels(key launch.Key) map[string]string {
	return map[string]string{
		labelApp: appName, labelInstance: l.settings.Instance,
		labelJob: key.JobID.String(), labelAttempt: strconv.Itoa(key.Attempt),
	}
}

// parseLabels is the inverse of labels; false for objects of others.
func (l *Launcher) parseLabels(labels map[string]string) (launch.Key, bool) {
	key, ok := launch.ParseKey(labels[labelJob] + "-" + labels[labelAttempt])
	return key, ok && labels[labelInstance] == l.settings.Instance
}

// newJob describes an attempt's Job: one pod, without retries, suspended until its
// Secret exists.
func (l *Launcher) newJob(a launch.Assignment) object {
	key := launch.Key{JobID: a.JobID, Attempt: a.Attempt}
	name := l.settings.Name(key)
	deadline := int(extraDeadline/time.Second) + a.AutoLeave.AfterEntryDelaySeconds + a.AutoLeave.AfterMaxSeconds
	return object{
		"apiVersion": batchVersion, "kind": "Job",
		"metadata": object{"name": name, "labels": l.labels(key)},
		"spec": object{
			"suspend": true, "parallelism": 1, "completions": 1, "backoffLimit": 0, "podReplacementPolicy": "Failed",
			"ttlSecondsAfterFinished": int(l.settings.KeepEnded / time.Second), "activeDeadlineSeconds": deadline,
			"template": l.pod(key, name+"-"+uuid.NewString()[:8]),
		},
	}
}

// secretName returns the name of the Secret that a Job's pod mounts.
func secretName(job *job) string {
	for _, volume := range job.Spec.Template.Spec.Volumes {
		if volume.Name == configVolume && volume.Secret != nil {
			return volume.Secret.SecretName
		}
	}
	return ""
}

// newSecret describes the Secret with a bot's configuration. The Job owns it.
func newSecret(job *job, config []byte) object {
	return object{
		"apiVersion": "v1", "kind": "Secret",
		"metadata": object{
			"name": secretName(job), "labels": job.Metadata.Labels,
			"ownerReferences": []object{{"apiVersion": batchVersion, "kind": "Job", "name": job.Metadata.Name, "uid": job.Metadata.UID}},
		},
		"immutable": true,
		"data":      object{launch.ConfigFile: base64.StdEncoding.EncodeToString(config)},
	}
}

// pod describes a bot's pod: the operator's template, overridden with the bot's
// container and the restrictions of the restricted Pod Security Standard.
func (l *Launcher) pod(key launch.Key, secret string) object {
	template := cmp.Or(l.settings.Template, new(PodTemplate))
	labels := maps.Clone(template.Metadata.Labels)
	if labels == nil {
		labels = make(map[string]string)
	}
	maps.Copy(labels, l.labels(key))
	spec := maps.Clone(template.Spec)
	if spec == nil {
		spec = make(object)
	}
	maps.Copy(spec, object{
		"restartPolicy":                "Never",
		"automountServiceAccountToken": false, "enableServiceLinks": false,
		"hostNetwork": false, "hostPID": false, "hostIPC": false,
		"terminationGracePeriodSeconds": int(l.settings.LeaveTime / time.Second),
		"securityContext": object{
			"runAsNonRoot": true, "runAsUser": l.settings.User, "runAsGroup": l.settings.Group, "fsGroup": l.settings.Group,
			"seccompProfile": l.seccomp(),
		},
		"volumes":    appended(spec["volumes"], l.volumes(secret)...),
		"containers": l.containers(spec["containers"]),
	})
	return object{"metadata": object{"labels": labels, "annotations": template.Metadata.Annotations}, "spec": spec}
}

// containers returns the containers of a template with the bot's container,
// which is added if the template does not have it.
func (l *Launcher) containers(template any) []any {
	var all []any
	found := false
	for _, container := range appended(template) {
		if fields, ok := container.(object); ok && fields["name"] == containerName {
			container, found = l.container(fields), true
		}
		all = append(all, container)
	}
	if !found {
		all = append(all, l.container(nil))
	}
	return all
}

// container returns the bot's container, based on that of a template.
func (l *Launcher) container(template object) object {
	c := maps.Clone(template)
	if c == nil {
		c = make(object)
	}
	if l.settings.Pull != "" {
		c["imagePullPolicy"] = l.settings.Pull
	} else {
		delete(c, "imagePullPolicy")
	}
	args := make([]any, 0, len(l.settings.Command)+2)
	for _, argument := range l.settings.Command {
		args = append(args, argument)
	}
	resources, _ := c["resources"].(object)
	resources = maps.Clone(resources)
	if resources == nil {
		resources = make(object)
	}
	limits := l.settings.Resources
	resources["requests"] = override(resources["requests"], limits.CPURequest, limits.MemoryRequest)
	resources["limits"] = override(resources["limits"], limits.CPULimit, limits.MemoryLimit)
	maps.Copy(c, object{
		"name": containerName, "image": l.settings.Image,
		"args": append(args, "--config", path.Join(configDir, launch.ConfigFile)),
		"env":  appended(c["env"], object{"name": "HOME", "value": "/tmp"}, object{"name": "TMPDIR", "value": "/tmp"}),
		"volumeMounts": appended(c["volumeMounts"],
			object{"name": configVolume, "mountPath": configDir, "readOnly": true},
			object{"name": "spool", "mountPath": spoolDir},
			object{"name": "tmp", "mountPath": "/tmp"},
			object{"name": "shm", "mountPath": "/dev/shm"},
		),
		"securityContext": object{
			"allowPrivilegeEscalation": false, "privileged": false, "readOnlyRootFilesystem": true,
			"runAsNonRoot": true, "capabilities": object{"drop": []string{"ALL"}},
		},
		// The pod's status includes the end of a failed bot's log, so the launcher
		// needs no permission to read logs.
		"terminationMessagePolicy": "FallbackToLogsOnError",
		"resources":                resources,
	})
	return c
}

// appended returns a copy of a template's list with more elements.
func appended(template any, elements ...object) []any {
	base, _ := template.([]any)
	all := append(make([]any, 0, len(base)+len(elements)), base...)
	for _, element := range elements {
		all = append(all, element)
	}
	return all
}

// override replaces the quantities of a template that are set.
func override(template any, cpu, memory string) object {
	base, _ := template.(object)
	all := make(object)
	maps.Copy(all, base)
	for name, quantity := range map[string]string{"cpu": cpu, "memory": memory} {
		if quantity != "" {
			all[name] = quantity
		}
	}
	return all
}

// seccomp returns the bot's seccomp profile.
func (l *Launcher) seccomp() object {
	if l.settings.Seccomp == "" {
		return object{"type": "RuntimeDefault"}
	}
	return object{"type": "Localhost", "localhostProfile": l.settings.Seccomp}
}

// volumes returns the volumes that a bot may write to, and its configuration.
func (l *Launcher) volumes(secret string) []object {
	empty := func(name, medium, size string) object {
		source := make(object)
		if medium != "" {
			source["medium"] = medium
		}
		if size != "" {
			source["sizeLimit"] = size
		}
		return object{"name": name, "emptyDir": source}
	}
	resources := l.settings.Resources
	return []object{
		{"name": configVolume, "secret": object{"secretName": secret, "defaultMode": 0o440}},
		empty("spool", "", resources.Spool),
		empty("tmp", "", resources.Tmp),
		empty("shm", "Memory", resources.Shm),
	}
}
