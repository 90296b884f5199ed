#!/bin/bash
# outdated.sh: lists the modules that go.mod files name and of which there is a newer version, and fails if
# there is one that is not pinned below. A pin that is not needed any more fails as well.
set -u

# Module, and why it stays: a version that cannot be used is given, so that a still newer one is noticed.
pins='
github.com/google/pprof v0.0.0-20260906184651-6331bc6350fe newer ones cannot be downloaded from the module proxy of the project
modernc.org/sqlite v1.60.1 from v1.61.0 on it requires a version of google/pprof that cannot be downloaded
github.com/goreleaser/nfpm/v2 v2.43.0 v2.48.0 requires go.digitalxero.dev/rpm, which cannot be downloaded
'

failed=0
seen=''
for dir in . tools release; do
  [ -f "$dir/go.mod" ] || continue
  # The packages that a go.mod asks for by itself; those of tools are all indirect.
  list=$(cd "$dir" && if [ "$dir" = tools ]; then go list -m -u -f '{{if .Update}}{{.Path}} {{.Version}} {{.Update.Version}}{{end}}' $(go list -f '{{with .Module}}{{.Path}}{{end}}' tool | sort -u)
    else go list -m -u -f '{{if and .Update (not .Indirect) (not .Main)}}{{.Path}} {{.Version}} {{.Update.Version}}{{end}}' all; fi) || exit 2
  while read -r path have want; do
    [ -n "$path" ] || continue
    seen+="$path "
    if why=$(grep -F "$path $have " <<<"$pins"); then
      echo "$dir/go.mod: $path $have (there is $want): ${why#"$path $have "}"
    else
      echo "$dir/go.mod: $path $have is outdated: there is $want"
      failed=1
    fi
  done <<<"$list"
done
while read -r path version _; do
  if [ -n "$path" ] && [[ " $seen" != *" $path "* ]]; then
    echo "outdated.sh: $path has no newer version than $version: remove the pin"
    failed=1
  fi
done <<<"$pins"
exit $failed
