#include "format/graphs/json_pieces.h"

#include <utility>

namespace opdump::format {
namespace {

constexpr int kMostDepth = 64;  // of an operator

class Cutter {
 public:
  explicit Cutter(std::string_view text) : text_(text) {}

  std::optional<JsonPieces> cut() {
    const bool is_cut = text_.size() <= UINT32_MAX && cut_members("graph", &Cutter::cut_graphs);
    if (!is_cut) return std::nullopt;
    pieces_.rest.append(text_.substr(kept_));
    return std::move(pieces_);
  }

 private:
  char next() {
    while (at_ < text_.size() &&
           (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
      ++at_;
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool take(char c) {
    if (next() != c) return false;
    ++at_;
    return true;
  }

  // Walks over an object; cut() is called for the one member `wanted`, where its value begins.
  bool cut_members(std::string_view wanted, bool (Cutter::*cut)()) {
    bool has_wanted = false;
    if (!take('{') || next() == '}') return false;
    do {
      const std::optional<std::string_view> key = take_string();
      if (!key || key->find('\\') != std::string_view::npos || !take(':')) return false;
      const bool is_wanted = *key == wanted;
      if (is_wanted && has_wanted) return false;
      has_wanted = has_wanted || is_wanted;
      if (!(is_wanted ? (this->*cut)() : skip_value())) return false;
    } while (take(','));
    return has_wanted && take('}');
  }

  bool cut_graphs() {
    if (!take('[') || next() == ']') return false;
    do {
      if (!cut_members("op", &Cutter::cut_ops)) return false;
      pieces_.graph_ends.push_back(pieces_.ops.size());
    } while (take(','));
    return take(']');
  }

  bool cut_ops() {
    if (!take('[')) return false;
    pieces_.rest.append(text_.substr(kept_, at_ - kept_));
    if (next() != ']') do {
        if (next() != '{') return false;
        const std::size_t begin = at_;
        if (!skip_value()) return false;
        const std::size_t size = at_ - begin;
        pieces_.ops.push_back({static_cast<std::uint32_t>(begin), static_cast<std::uint32_t>(size)});
      } while (take(','));
    kept_ = at_;
    return take(']');
  }

  // What is between the quotes.
  std::optional<std::string_view> take_string() {
    if (!take('"')) return std::nullopt;
    const std::size_t begin = at_;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_)
      if (text_[at_] == '\\') ++at_;
    if (at_ >= text_.size()) return std::nullopt;
    return text_.substr(begin, at_++ - begin);
  }

  bool skip_value() {
    int depth = 0;
    do {
      switch (next()) {
        case '"':
          if (!take_string()) return false;
          break;
        case '{':
        case '[':
          if (++depth > kMostDepth) return false;
          ++at_;
          break;
        case '}':
        case ']':
          --depth;
          ++at_;
          break;
        default:
          if (!skip_word()) return false;
      }
    } while (depth > 0);
    return depth == 0;
  }

  // A number, true, ',' or whatever is within a value.
  bool skip_word() {
    const std::size_t begin = at_;
    if (at_ < text_.size() && (text_[at_] == ',' || text_[at_] == ':')) ++at_;
    while (at_ < text_.size() && !ends_word(text_[at_])) ++at_;
    return at_ > begin;
  }

  static bool ends_word(char c) {
    switch (c) {
      case '"':
      case '{':
      case '}':
      case '[':
      case ']':
      case ',':
      case ':':
      case ' ':
      case '\t':
      case '\r':
      case '\n':
        return true;
      default:
        return false;
    }
  }

  std::string_view text_;
  std::size_t at_ = 0, kept_ = 0;  // what is before kept_ is in a piece
  JsonPieces pieces_;
};

}  // namespace

std::optional<JsonPieces> cut_graphs(std::string_view text) { return Cutter(text).cut(); }

}  // namespace opdump::format
