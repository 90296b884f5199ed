// Asks questions of a document by pugixml's XPath, so many times.
#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string>

#include "pugixml.hpp"

int main(int argc, char **argv) {
  std::string doc = "<shop>";
  for (int i = 0; i < 12; i++)
    doc += "<item id='" + std::to_string(i) + "' price='" + std::to_string(i * 7 % 13) + "'><name>n" + std::to_string(i) +
           "</name><tag>t" + std::to_string(i % 3) + "</tag></item>";
  doc += "</shop>";
  const char *queries[] = {
      "/shop/item[@price > 5]/name", "//item[last()]/@id", "//tag[.='t1']/../name", "//item[position() mod 2 = 1]",
      "/shop/item[name='n3' or name='n4']/following-sibling::item[1]", "//item[not(@price < 3)][contains(name, '1')]",
  };
  const char *values[] = {
      "sum(//item/@price) div count(//item)", "concat(string(//name), '-', normalize-space('  a  b '))",
      "translate('bar', 'abc', 'ABC')", "boolean(//item[@id='x']) or true()", "round(3.5) + floor(-1.5) * string-length(//name)",
      "substring-after(//item[2]/name, 'n')",
  };
  double sum = 0;
  for (int i = 0; i < (argc > 1 ? atoi(argv[1]) : 1); i++) {
    pugi::xml_document d;
    d.load_string(doc.c_str());
    for (auto q : queries)
      for (auto n : d.select_nodes(q)) sum += n.node() ? n.node().children().begin() != n.node().children().end() : 1;
    for (auto v : values) sum += pugi::xpath_query(v).evaluate_string(d).size();
    try {
      pugi::xpath_query bad("//item[");
    } catch (const pugi::xpath_exception &e) {
      sum += e.result().offset;
    }
    std::ostringstream out;
    d.save(out, "", pugi::format_raw);
    sum += out.str().size();
  }
  printf("%g\n", sum);
}
