package main

import (
	"fmt"
	"slices"
)

// machine is what guests are cross-built for. Their tests run on an emulator.
type machine struct {
	name  string
	gnu   string // name of its compilers, and of the directory of its libraries
	qemu  string
	cases []variant
}

// recordCases are the modes of records, and the build by a profile.
var recordCases = []variant{
	{name: "cover", flags: []string{"--mode", "cover"}},
	{name: "count", flags: []string{"--mode", "count"}},
	{name: "block", flags: []string{"--mode", "block"}},
	{name: "order", flags: []string{"--mode", "order"}},
	{name: "full", flags: []string{"--mode", "full"}},
	{name: "use", use: true},
}

var machines = []machine{
	{name: "aarch64", gnu: "aarch64-linux-gnu", qemu: "qemu-aarch64", cases: append(slices.Clip(recordCases),
		variant{name: "spike", flags: []string{"--mode", "spike"}, logs: true},
		variant{name: "stacks", flags: []string{"--mode", "stacks"}, logs: true})},
	{name: "armv7", gnu: "arm-linux-gnueabihf", qemu: "qemu-arm", cases: recordCases},
}

// strangers are programs that are built for each machine. In their commands, HOST is the name of the compilers, RUN
// what a program runs in, and CMAKE the options of CMake for both.
var strangers = []guest{
	{
		// Its tests are C and C++. Static, as libtool's scripts would run shared ones without the emulator.
		name: "expat", source: "expat", system: "autotools", tools: []string{"autoreconf", "libtoolize"},
		build: `cd expat && ./buildconf.sh && ./configure --host=$HOST --disable-shared --without-docbook && make -j2 && make -j2 -C tests check TESTS=`,
		test: `cd expat && make -C tests check "LOG_COMPILER=$RUN" 2>&1 | grep '^# [A-Z]*:\|^PASS\|^FAIL'
			tail -n 3 tests/runtests.log tests/runtestspp.log
			for f in doc/*.xml tests/benchmark/README.txt; do $RUN xmlwf/xmlwf -c $f; echo $?; done`,
		binary: "expat/tests/runtests", modules: []string{"expat/tests/runtestspp", "expat/xmlwf/xmlwf"},
	},
	{
		name: "libyaml", source: "libyaml", system: "CMake, make", tools: []string{"cmake"},
		build:  "cmake $CMAKE -B out -DCMAKE_BUILD_TYPE=Release && cmake --build out -j2",
		binary: "out/run-dumper", modules: []string{"out/run-*", "out/example-*", "out/test-*"},
		test: `cd out && ctest | sed -n 's/ *[0-9.]* sec.*//; /Test *#/p; /tests passed/p'
			for f in ../examples/*.yaml; do
				for t in scanner parser loader emitter dumper parser-test-suite; do $RUN ./run-$t $f; echo $?; done
				$RUN ./run-parser-test-suite $f >events; $RUN ./run-emitter-test-suite events; echo $?
				for t in reformatter reformatter-alt deconstructor deconstructor-alt; do $RUN ./example-$t <$f; echo $?; done
			done 2>&1`,
	},
	{
		name: "cjson", source: "cjson", system: "CMake, make; shared libraries", tools: []string{"cmake"},
		build:  "cmake $CMAKE -B out -DCMAKE_BUILD_TYPE=Release -DENABLE_CJSON_UTILS=ON -DENABLE_CUSTOM_COMPILER_FLAGS=OFF && cmake --build out -j2",
		binary: "out/libcjson.so.1", modules: []string{"out/libcjson_utils.so.1", "out/cJSON_test", "out/tests/*"},
		test: `cd out/tests && for t in ../cJSON_test ./parse_* ./print_* ./*_tests ./cjson_add ./readme_examples; do
			[ ! -x $t ] || $RUN $t; done 2>&1 | sed 's,^/.*/tests/,,'`,
	},
}

// crossGuests returns the strangers for each machine.
func crossGuests() []guest {
	var all []guest
	for _, g := range strangers {
		for _, m := range machines {
			all = append(all, g.on(&m))
		}
	}
	return all
}

// on returns a guest that is built for a machine.
func (g guest) on(m *machine) guest {
	libraries := "/usr/" + m.gnu
	given := fmt.Sprintf(`HOST=%[1]s RUN='%[2]s -L %[3]s'
		CMAKE='-DCMAKE_SYSTEM_NAME=Linux -DCMAKE_SYSTEM_PROCESSOR=%[4]s -DCMAKE_C_COMPILER=%[1]s-gcc -DCMAKE_CXX_COMPILER=%[1]s-g++ -DCMAKE_CROSSCOMPILING_EMULATOR=%[2]s;-L;%[3]s'
		`, m.gnu, m.qemu, libraries, m.name)
	g.name += "-" + m.name
	g.system += ", " + m.gnu + "-gcc"
	g.tools = append(slices.Clip(g.tools), m.gnu+"-gcc", m.gnu+"-g++", m.qemu)
	g.build, g.test = given+g.build, given+g.test
	g.strip = m.gnu + "-strip"
	g.cases = m.cases
	return g
}
