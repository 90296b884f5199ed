window.pages = [
{{- range $i, $p := where site.RegularPages "Kind" "page" }}{{ if $i }},{{ end }}
{{ dict "url" $p.RelPermalink "title" (partial "heading.html" $p | htmlUnescape) "text" ($p.Plain | htmlUnescape | strings.TrimSpace) | jsonify }}
{{- end }}
];
