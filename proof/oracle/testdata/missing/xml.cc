// Parses, walks and prints a document by tinyxml2, so many times.
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tinyxml2.h"

using namespace tinyxml2;

struct Counter : XMLVisitor {
  int elements = 0, text = 0;
  bool VisitEnter(const XMLElement &e, const XMLAttribute *a) override {
    for (; a; a = a->Next()) elements += a->IntValue();
    elements++;
    return true;
  }
  bool Visit(const XMLText &t) override { return text += std::string(t.Value()).size(); }
};

int main(int argc, char **argv) {
  std::string doc = "<?xml version='1.0'?><!DOCTYPE d><root>";
  for (int i = 0; i < 20; i++)
    doc += "<item id='" + std::to_string(i) + "' name=\"n&amp;m\"><!-- c --><a><b>text &lt;" + std::to_string(i) +
           "</b><![CDATA[raw]]></a><empty/></item>";
  doc += "</root>";
  long sum = 0;
  for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 1); i++) {
    XMLDocument d;
    d.Parse(doc.c_str());
    Counter c;
    d.Accept(&c);
    XMLPrinter p;
    d.Print(&p);
    XMLDocument copy;
    d.DeepCopy(&copy);
    copy.RootElement()->DeleteChild(copy.RootElement()->FirstChild());
    XMLPrinter q(nullptr, true);
    copy.Accept(&q);
    sum += c.elements + c.text + p.CStrSize() + q.CStrSize();
    d.Parse("<a><b></a>");
    sum += d.ErrorID();
  }
  printf("%ld\n", sum);
}
