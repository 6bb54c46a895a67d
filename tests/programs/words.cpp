// Functions of C++ as people name them.
#include <iostream>
#include <map>
#include <sstream>
#include <string>

namespace words {
struct Table {
    std::map<std::string, int> counts;
    __attribute__((noinline)) void add(const std::string &word) { counts[word]++; }
};
__attribute__((noinline)) std::string longest [[gnu::abi_tag("cxx11")]] (const Table &table) {
    std::string found;
    for (auto &entry : table.counts)
        if (entry.first.size() > found.size())
            found = entry.first;
    return found;
}
__attribute__((noinline)) int count [[gnu::abi_tag("cxx11")]] (std::istream &in, Table &table) {
    std::string word;
    int n = 0;
    while (in >> word)
        table.add(word), n++;
    return n;
}
} // namespace words

int main() {
    std::istringstream in("the quick brown fox jumps over the lazy dog");
    words::Table table;
    int n = words::count(in, table);
    std::cout << n << ' ' << words::longest(table) << '\n';
}
