{{/* Name of the chart. */}}
{{- define "standin.name" -}}
{{- default .Chart.Name .Values.nameOverride | trunc 63 | trimSuffix "-" }}
{{- end }}

{{/* Name of the objects of the release. */}}
{{- define "standin.fullname" -}}
{{- if .Values.fullnameOverride }}
{{- .Values.fullnameOverride | trunc 63 | trimSuffix "-" }}
{{- else if contains (include "standin.name" .) .Release.Name }}
{{- .Release.Name | trunc 63 | trimSuffix "-" }}
{{- else }}
{{- printf "%s-%s" .Release.Name (include "standin.name" .) | trunc 63 | trimSuffix "-" }}
{{- end }}
{{- end }}

{{/* Labels of every object. */}}
{{- define "standin.labels" -}}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" | trunc 63 | trimSuffix "-" }}
{{ include "standin.selectorLabels" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{/* Labels that select the pods of the service. */}}
{{- define "standin.selectorLabels" -}}
app.kubernetes.io/name: {{ include "standin.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Labels that select the pods of the release's bots. */}}
{{- define "standin.botLabels" -}}
app.kubernetes.io/name: standin-bot
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{/* Name of the service account. */}}
{{- define "standin.serviceAccountName" -}}
{{- if .Values.serviceAccount.create }}
{{- default (include "standin.fullname" .) .Values.serviceAccount.name }}
{{- else }}
{{- required "serviceAccount.name is required without serviceAccount.create" .Values.serviceAccount.name }}
{{- end }}
{{- end }}

{{/* The bots' PodTemplateSpec: that of the values, with the labels of the release. */}}
{{- define "standin.podTemplate" -}}
{{- $labels := fromYaml (include "standin.botLabels" .) }}
{{- mergeOverwrite (deepCopy .Values.bots.podTemplate) (dict "metadata" (dict "labels" $labels)) | toYaml }}
{{- end }}
