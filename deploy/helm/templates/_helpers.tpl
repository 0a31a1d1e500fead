{{/* The name of everything: that of the release, which is most often "dibs". */}}
{{- define "dibs.name" -}}
{{ .Release.Name | trunc 50 | trimSuffix "-" }}
{{- end }}

{{/* What selects the pods of this release. */}}
{{- define "dibs.selector" -}}
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/component: server
{{- end }}

{{- define "dibs.labels" -}}
app.kubernetes.io/name: dibs
app.kubernetes.io/instance: {{ .Release.Name }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
{{- end }}

{{- define "dibs.image" -}}
{{- if .Values.image.digest -}}
{{ .Values.image.repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end }}

{{/* Names of Secrets: those of this chart where values have what is in them. */}}
{{- define "dibs.secret" -}}
{{ .Values.database.url | empty | ternary .Values.database.secret (include "dibs.name" .) }}
{{- end }}
{{- define "dibs.ownerSecret" -}}
{{ .Values.database.ownerUrl | empty | ternary .Values.database.ownerSecret (printf "%s-owner" (include "dibs.name" .)) }}
{{- end }}
{{- define "dibs.adminKeySecret" -}}
{{ .Values.adminKey.value | empty | ternary .Values.adminKey.secret (printf "%s-admin-key" (include "dibs.name" .)) }}
{{- end }}

{{- define "dibs.podSecurity" -}}
runAsNonRoot: true
runAsUser: 1000
runAsGroup: 1000
seccompProfile: { type: RuntimeDefault }
{{- end }}

{{- define "dibs.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: { drop: [ALL] }
{{- end }}
