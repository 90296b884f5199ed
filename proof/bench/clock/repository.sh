#!/bin/sh
# repository.sh DIR FILE...: a repository of git with a commit for each file, and twice as
# many that change them.
dir=$1
shift
rm -rf "$dir" && git init -q "$dir" || exit 1
commit() {
  GIT_AUTHOR_DATE="$time +0000" GIT_COMMITTER_DATE="$time +0000" git -C "$dir" -c user.name=a -c user.email=a@example.org -c gc.auto=0 \
    commit -qam "$1" && time=$((time + 1000))
}
time=1600000000
for f; do
  cp "$f" "$dir" && git -C "$dir" add -A && commit "add ${f##*/}" || exit 1
done
for step in 11 17; do
  for f; do
    awk -v s=$step 'NR % s == 0 { print "/* changed at " NR " */" } NR % (s + 2) != 0' "$dir/${f##*/}" >"$dir.tmp" &&
      mv "$dir.tmp" "$dir/${f##*/}" && commit "change ${f##*/} by $step" || exit 1
  done
done
git -C "$dir" -c pack.threads=1 repack -qad
