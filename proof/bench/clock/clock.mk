# Compiles SOURCES and links PROGRAM of them, for programs whose own makefiles put objects
# where the flags say, or need more than a compiler.
OBJECTS = $(addsuffix .o,$(SOURCES))

$(PROGRAM): $(OBJECTS)
	$(LINK) $(CFLAGS) $(LDFLAGS) -o $@ $(OBJECTS) $(LIBS)

%.c.o: %.c
	$(CC) $(CFLAGS) $(DEFINES) -c -o $@ $<

%.cc.o: %.cc
	$(CXX) $(CFLAGS) $(DEFINES) -c -o $@ $<
