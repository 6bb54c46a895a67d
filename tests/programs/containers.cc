// C++: templates, virtual calls, containers, exceptions through frames with destructors. g++ -static.
#include <algorithm>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>
struct Shape { virtual ~Shape() = default; virtual int area() const = 0; };
struct Square : Shape { int side; explicit Square(int s) : side(s) {} int area() const override { return side * side; } };
struct Strip : Shape { int length; explicit Strip(int l) : length(l) {} int area() const override { return length; } };
template <class T> __attribute__((noinline)) T total(const std::vector<T> &list) { T sum{}; for (auto &x : list) sum += x; return sum; }
__attribute__((noinline)) static int checked(const std::vector<int> &list, std::size_t i) {
    std::string note = "a note that is too long to stand within the string itself";
    return list.at(i) + static_cast<int>(note.size());
}
int main() {
    std::vector<int> list;
    for (int i = 0; i < 40; i++) list.push_back(i * 37 % 41);
    std::sort(list.begin(), list.end(), [](int a, int b) { return a > b; });
    std::map<std::string, int> count;
    for (int n : list) count[n % 2 ? "odd" : "even"] += n;
    std::vector<std::unique_ptr<Shape>> shapes;
    shapes.push_back(std::make_unique<Square>(4));
    shapes.push_back(std::make_unique<Strip>(5));
    int area = 0, caught = 0;
    for (auto &s : shapes) area += s->area();
    for (std::size_t i = 38; i < 42; i++) try { area += checked(list, i) * 0; } catch (const std::out_of_range &) { caught++; }
    return total(list) == count["odd"] + count["even"] && area == 21 && caught == 2 ? 0 : 1;
}
