#include "format/tensors/torch/pickle.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <unordered_map>
#include <utility>

namespace opdump::format {
namespace {

using Kind = PickleValue::Kind;
using Number = std::uint32_t;  // of a value

constexpr std::size_t kMaxBytes = 16 << 20;
constexpr std::size_t kMaxName = 256;  // of a module or a class: a few bytes name a text again and again
constexpr std::string_view kOrderedDict = "collections OrderedDict";

Error corrupt(std::string_view what) { return {Code::corrupt, "pickle: " + std::string(what)}; }

// Every opcode makes at most one value, whose text it brings or which is short, so the text bounds the
// memory.
class Machine {
 public:
  explicit Machine(std::span<const std::byte> bytes)
      : text_(reinterpret_cast<const char*>(bytes.data()), bytes.size()) {}

  Result<Pickle> run() {
    while (!is_done_) {
      if (text_.empty()) return corrupt("it ends without its last opcode");
      const auto opcode = static_cast<unsigned char>(text_.front());
      text_.remove_prefix(1);
      OPDUMP_CHECK_OK(step(opcode));
      if (is_short_) return corrupt("it ends within an argument");
      if (is_empty_) return corrupt("an opcode lacks its operands");
    }
    return std::move(pickle_);
  }

 private:
  Result<> step(unsigned char opcode) {
    switch (opcode) {
      case 0x80:  // PROTO
        take(1);
        return ok();
      case 0x95:  // FRAME
        take(8);
        return ok();
      case '.':
        pickle_.root = pop();
        is_done_ = true;
        return ok();
      case '(':
        marks_.push_back(stack_.size());
        return ok();
      case '0':
        pop();
        return ok();
      case '1':  // POP_MARK
        pop_marked();
        return ok();
      case '2':  // DUP
        if (!stack_.empty()) stack_.push_back(stack_.back());
        return ok();
      case 'q':  // BINPUT
        memo_[read_number(1)] = top();
        return ok();
      case 'r':  // LONG_BINPUT
        memo_[read_number(4)] = top();
        return ok();
      case 0x94:  // MEMOIZE
        memo_[memo_.size()] = top();
        return ok();
      case 'h':  // BINGET
        return get(read_number(1));
      case 'j':  // LONG_BINGET
        return get(read_number(4));
      default:
        return step_scalar(opcode);
    }
  }

  Result<> step_scalar(unsigned char opcode) {
    switch (opcode) {
      case 'N':
        return push({});
      case 0x88:  // NEWTRUE
        return push_number(1);
      case 0x89:  // NEWFALSE
        return push_number(0);
      case 'J':  // BININT
        return push_number(static_cast<std::int32_t>(read_number(4)));
      case 'K':  // BININT1
        return push_number(static_cast<std::int64_t>(read_number(1)));
      case 'M':  // BININT2
        return push_number(static_cast<std::int64_t>(read_number(2)));
      case 0x8a:  // LONG1
        return push_long(take(read_number(1)));
      case 'G':  // BINFLOAT
        take(8);
        return push({});
      case 'X':  // BINUNICODE
        return push_text(take(read_number(4)));
      case 0x8c:  // SHORT_BINUNICODE
        return push_text(take(read_number(1)));
      case 0x8d:  // BINUNICODE8
        return push_text(take(read_number(8)));
      case 'C':  // SHORT_BINBYTES
        take(read_number(1));
        return push({});
      case 'B':  // BINBYTES
        take(read_number(4));
        return push({});
      case 0x8e:  // BINBYTES8
      case 0x96:  // BYTEARRAY8
        take(read_number(8));
        return push({});
      default:
        return step_container(opcode);
    }
  }

  Result<> step_container(unsigned char opcode) {
    switch (opcode) {
      case ')':
      case ']':
      case 0x8f:  // EMPTY_SET
        return push({Kind::list, 0, {}, {}});
      case '}':
        return push({Kind::dict, 0, {}, {}});
      case 't':
      case 0x91:  // FROZENSET
        return push({Kind::list, 0, {}, pop_marked()});
      case 0x85:  // TUPLE1
        return push({Kind::list, 0, {}, pop_last(1)});
      case 0x86:
        return push({Kind::list, 0, {}, pop_last(2)});
      case 0x87:
        return push({Kind::list, 0, {}, pop_last(3)});
      case 'a':  // APPEND
        return extend(Kind::list, pop_last(1));
      case 'e':   // APPENDS
      case 0x90:  // ADDITEMS
        return extend(Kind::list, pop_marked());
      case 's':  // SETITEM
        return extend(Kind::dict, pop_last(2));
      case 'u':  // SETITEMS
        return extend(Kind::dict, pop_marked());
      default:
        return step_object(opcode);
    }
  }

  Result<> step_object(unsigned char opcode) {
    switch (opcode) {
      case 'c': {  // GLOBAL
        const std::string module(take_line());
        return push({Kind::name, 0, module + " " + std::string(take_line()), {}});
      }
      case 0x93: {  // STACK_GLOBAL
        const auto names = pop_last(2);
        if (names.size() < 2) return ok();
        const std::string &module = value(names[0]).text, &name = value(names[1]).text;
        if (module.size() > kMaxName || name.size() > kMaxName) return corrupt("a name is too long");
        return push({Kind::name, 0, module + " " + name, {}});
      }
      case 'R':   // REDUCE
      case 0x81:  // NEWOBJ
        return push_call(pop_last(2));
      case 0x92: {  // NEWOBJ_EX
        auto call = pop_last(3);
        if (!call.empty()) call.pop_back();
        return push_call(std::move(call));
      }
      case 'b':  // BUILD: the state of an object
        pop();
        top();
        return ok();
      case 'Q':  // BINPERSID
        return push({Kind::persistent, 0, {}, pop_last(1)});
      default:
        return Error(Code::unsupported,
                     "pickle: opcode " + std::to_string(opcode) + ", which torch.save does not write");
    }
  }

  PickleValue& value(Number number) { return pickle_.values[number]; }

  Result<> push(PickleValue made) {
    pickle_.values.push_back(std::move(made));
    stack_.push_back(static_cast<Number>(pickle_.values.size() - 1));
    return ok();
  }
  Result<> push_number(std::int64_t number) { return push({Kind::number, number, {}, {}}); }
  Result<> push_text(std::string_view text) { return push({Kind::text, 0, std::string(text), {}}); }
  Result<> push_call(std::vector<Number> call) {
    if (call.size() < 2) return ok();
    const PickleValue& called = value(call[0]);
    if (called.kind == Kind::name && called.text == kOrderedDict && value(call[1]).items.empty())
      return push({Kind::dict, 0, {}, {}});
    return push({Kind::call, 0, {}, std::move(call)});
  }
  // Two's complement, the lowest byte first. What 64 bits do not hold is no size.
  Result<> push_long(std::string_view bytes) {
    if (bytes.size() > 8) return push({});
    std::uint64_t number = !bytes.empty() && (bytes.back() & 0x80) != 0 ? ~std::uint64_t{0} : 0;
    if (!bytes.empty()) std::memcpy(&number, bytes.data(), bytes.size());
    return push_number(static_cast<std::int64_t>(number));
  }

  Result<> get(std::uint64_t key) {
    const auto known = memo_.find(key);
    if (known == memo_.end()) return corrupt("it refers to what it does not have");
    stack_.push_back(known->second);
    return ok();
  }

  // Adds to a list or dict; members of other objects are left out.
  Result<> extend(Kind kind, std::vector<Number> items) {
    PickleValue& container = value(top());
    if (is_empty_ || container.kind != kind) return ok();
    if (kind == Kind::dict && items.size() % 2 != 0) return corrupt("a key without a value");
    container.items.insert(container.items.end(), items.begin(), items.end());
    return ok();
  }

  // What lies below the last mark is not for the opcodes above it.
  std::size_t floor() const { return marks_.empty() ? 0 : marks_.back(); }
  Number top() {
    is_empty_ = is_empty_ || stack_.size() <= floor();
    if (is_empty_) pickle_.values.resize(std::max<std::size_t>(pickle_.values.size(), 1));
    return is_empty_ ? 0 : stack_.back();
  }
  Number pop() {
    const Number number = top();
    if (!is_empty_) stack_.pop_back();
    return number;
  }
  std::vector<Number> pop_last(std::size_t count) {
    if (stack_.size() < floor() + count) {
      is_empty_ = true;
      return {};
    }
    std::vector<Number> last(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return last;
  }
  std::vector<Number> pop_marked() {
    if (marks_.empty()) {
      is_empty_ = true;
      return {};
    }
    const std::size_t count = stack_.size() - marks_.back();
    auto items = pop_last(count);
    marks_.pop_back();
    return items;
  }

  std::string_view take(std::uint64_t count) {
    is_short_ = is_short_ || count > text_.size();
    if (is_short_) return {};
    const std::string_view taken = text_.substr(0, count);
    text_.remove_prefix(count);
    return taken;
  }
  std::string_view take_line() {
    const std::string_view line = take(std::min(text_.find('\n'), text_.size()));
    take(1);
    return line;
  }
  std::uint64_t read_number(std::size_t bytes) {
    static_assert(std::endian::native == std::endian::little);
    std::uint64_t number = 0;
    const std::string_view taken = take(bytes);
    if (!taken.empty()) std::memcpy(&number, taken.data(), taken.size());
    return number;
  }

  std::string_view text_;  // what is left
  Pickle pickle_;
  std::vector<Number> stack_;
  std::vector<std::size_t> marks_;  // positions in stack_
  std::unordered_map<std::uint64_t, Number> memo_;
  bool is_done_ = false, is_short_ = false, is_empty_ = false;
};

}  // namespace

Result<Pickle> decode_pickle(std::span<const std::byte> bytes) {
  if (bytes.size() > kMaxBytes) return Error(Code::limit, "pickle: larger than 16 MiB");
  return Machine(bytes).run();
}

}  // namespace opdump::format
