# cairn.mk: instruments a Debian package, or builds it by a profile. In debian/rules of a package that
# uses dh, after the line "%: dh $@":
#
#   include /usr/share/cairn/kit/debian/cairn.mk
#
# and build with
#
#   CAIRN_MODE=cover dpkg-buildpackage -us -uc -b         with probes
#   CAIRN_USE=/path/to/app.mip dpkg-buildpackage -us -uc -b   by a profile
#
# Without either variable the package is built as ever. Programs that run during the build write no raw files
# into the tree. The -dbgsym packages contain the maps: cairn map and cairn merge take their files.
ifneq ($(CAIRN_USE),)
cairn_build = cairn build --use $(CAIRN_USE) $(CAIRN_FLAGS) --
else ifneq ($(CAIRN_MODE),)
cairn_build = cairn build --mode $(CAIRN_MODE) --default-dir none $(CAIRN_FLAGS) --
endif

ifdef cairn_build
override_dh_auto_build:
	$(cairn_build) dh_auto_build
endif
