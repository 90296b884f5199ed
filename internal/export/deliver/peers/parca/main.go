// Command parca serves the method WriteRaw of Parca by grpc-go. It writes each request as a line of
// JSON, and answers with an error if the profile in it is not one that Parca accepts. Parca's server
// cannot be built from the module proxy; its proto file is below.
package main

import (
	"bytes"
	"context"
	_ "embed"
	"fmt"
	"log"
	"net"
	"os"

	"github.com/bufbuild/protocompile"
	"github.com/google/pprof/profile"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/dynamicpb"
)

//go:embed profilestore.proto
var proto string

const name = "parca.profilestore.v1alpha1."

func main() {
	compiler := protocompile.Compiler{Resolver: &protocompile.SourceResolver{
		Accessor: protocompile.SourceAccessorFromMap(map[string]string{"profilestore.proto": proto}),
	}}
	files, err := compiler.Compile(context.Background(), "profilestore.proto")
	if err != nil {
		log.Fatal(err)
	}
	message := func(what protoreflect.Name) protoreflect.MessageDescriptor {
		return files[0].FindDescriptorByName(name + protoreflect.FullName(what)).(protoreflect.MessageDescriptor)
	}
	s := grpc.NewServer()
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: name + "ProfileStoreService", HandlerType: (*any)(nil),
		Methods: []grpc.MethodDesc{{MethodName: "WriteRaw", Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			request := dynamicpb.NewMessage(message("WriteRawRequest"))
			if err := decode(request); err != nil {
				return nil, err
			}
			if err := check(request); err != nil {
				return nil, status.Error(codes.InvalidArgument, err.Error())
			}
			line, err := protojson.Marshal(request)
			if err == nil {
				_, err = fmt.Printf("%s\n", line)
			}
			return dynamicpb.NewMessage(message("WriteRawResponse")), err
		}}},
	}, nil)
	l, err := net.Listen("tcp", os.Args[1])
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(l.Addr())
	log.Fatal(s.Serve(l))
}

// check returns what Parca refuses a request for: unknown fields, no name, or a profile that is not valid.
func check(request *dynamicpb.Message) error {
	list := func(m protoreflect.Message, field string) protoreflect.List {
		return m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(field))).List()
	}
	text := func(m protoreflect.Message, field string) string {
		return m.Get(m.Descriptor().Fields().ByName(protoreflect.Name(field))).String()
	}
	series := list(request, "series")
	for i := range series.Len() {
		one := series.Get(i).Message()
		labels := list(one.Get(one.Descriptor().Fields().ByName("labels")).Message(), "labels")
		named := false
		for k := range labels.Len() {
			named = named || text(labels.Get(k).Message(), "name") == "__name__"
		}
		if !named {
			return fmt.Errorf("series %d has no label __name__", i)
		}
		samples := list(one, "samples")
		for k := range samples.Len() {
			m := samples.Get(k).Message()
			p, err := profile.Parse(bytes.NewReader(m.Get(m.Descriptor().Fields().ByName("raw_profile")).Bytes()))
			if err != nil {
				return err
			}
			if p.TimeNanos == 0 {
				return fmt.Errorf("the profile has no time")
			}
		}
	}
	return nil
}
