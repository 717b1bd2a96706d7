#include "base/text/json.h"

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "base/file/content.h"
#include "base/text/text.h"

namespace opdump {
namespace {

// Byte offsets of a member's key and of its value.
struct TextSpan {
  std::size_t key = 0, value = 0;
};

// Walks text that is known to be valid JSON. A second look at the text is cheaper than a parser that keeps
// positions of everything: it happens only when there is something to complain about.
class Walker {
 public:
  explicit Walker(std::string_view text) : text_(text) {
    if (text_.starts_with("\xEF\xBB\xBF")) at_ = 3;
    skip_blanks();
  }

  std::size_t at() const { return at_; }

  // Enters the container at the current position and finds the member `name` (an index in an array).
  std::optional<TextSpan> find_member(std::string_view name) {
    const bool is_object = text_[at_] == '{';
    if (!is_object && text_[at_] != '[') return std::nullopt;
    std::optional<TextSpan> found;
    ++at_;
    for (std::size_t index = 0; skip_blanks(), text_[at_] != '}' && text_[at_] != ']'; ++index) {
      TextSpan place{at_, at_};
      std::string key = std::to_string(index);
      if (is_object) {
        skip_value();
        key = nlohmann::json::parse(text_.substr(place.key, at_ - place.key)).get<std::string>();
        skip_blanks();
        ++at_;  // the colon
        skip_blanks();
        place.value = at_;
      }
      if (key == name) found = place;  // no break: of equal keys the last one counts
      skip_value();
      skip_blanks();
      if (text_[at_] == ',') ++at_;
    }
    if (found) at_ = found->value;
    return found;
  }

 private:
  void skip_blanks() {
    while (at_ < text_.size() && std::string_view(" \t\r\n").find(text_[at_]) != std::string_view::npos)
      ++at_;
  }

  void skip_value() {
    int depth = 0;
    do {
      skip_blanks();
      const char c = text_[at_];
      if (c == '"') {
        for (++at_; text_[at_] != '"'; ++at_)
          if (text_[at_] == '\\') ++at_;
        ++at_;
      } else if (c == '{' || c == '[') {
        ++depth, ++at_;
      } else if (c == '}' || c == ']') {
        --depth, ++at_;
      } else if (c == ',' || c == ':') {
        ++at_;
      } else {
        while (at_ < text_.size() &&
               std::string_view(",:]} \t\r\n").find(text_[at_]) == std::string_view::npos)
          ++at_;
      }
    } while (depth > 0);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// The key, as written, that begins at `at`, the offset of a quotation mark of valid JSON.
std::string_view quoted_at(std::string_view text, std::size_t at) {
  std::size_t end = at + 1;
  while (text[end] != '"') end += text[end] == '\\' ? 2 : 1;
  return text.substr(at, end + 1 - at);
}

TextSpan find_place(std::string_view text, std::string_view pointer) {
  Walker walker(text);
  TextSpan place{walker.at(), walker.at()};
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    std::string name(pointer.substr(0, end));
    nlohmann::detail::unescape(name);
    const auto member = walker.find_member(name);
    if (!member) break;
    place = *member;
    pointer.remove_prefix(end);
  }
  return place;
}

std::string format_position(std::string_view name, std::string_view text, std::size_t offset) {
  const std::string_view before = text.substr(0, std::min(offset, text.size()));
  const auto line = 1 + std::count(before.begin(), before.end(), '\n');
  const std::size_t line_begin = before.rfind('\n') == std::string_view::npos ? 0 : before.rfind('\n') + 1;
  return std::string(name) + ":" + std::to_string(line) + ":" +
         std::to_string(before.size() - line_begin + 1);
}

// `text` with quotation marks around Python's words for numbers that JSON lacks; empty if it has none.
std::string quote_words(std::string_view text) {
  constexpr std::string_view kWords[] = {"NaN", "Infinity", "-Infinity"};
  std::string quoted;
  std::size_t copied = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    if (text[at] == '"') {
      for (++at; at < text.size() && text[at] != '"'; ++at)
        if (text[at] == '\\') ++at;
      continue;
    }
    if (text[at] != 'N' && text[at] != 'I' && text[at] != '-') continue;
    for (const std::string_view word : kWords)
      if (text.substr(at).starts_with(word)) {
        quoted.append(text.substr(copied, at - copied)).append(quote(word));
        copied = at + word.size();
        at = copied - 1;
        break;
      }
  }
  if (copied > 0) quoted.append(text.substr(copied));
  return quoted;
}

}  // namespace

Result<> parse_members(std::string_view text, std::string_view key, const TakeMember& take) {
  const int depth = key.empty() ? 1 : 2;  // of the members
  bool has_object = false, is_inside = false, is_key = key.empty();
  std::string name;
  using Event = nlohmann::json::parse_event_t;
  const auto visit = [&](int at, Event event, nlohmann::json& value) {
    if (event == Event::key) {
      if (at == depth) name = value.get<std::string>();
      if (at == 1 && depth == 2) is_key = value.get<std::string>() == key;
    } else if (event == Event::object_start) {
      if (at == depth - 1) is_inside = is_key;
      has_object = has_object || is_inside;
    } else if (event == Event::object_end && at == depth - 1) {
      is_inside = false;
    } else if (event != Event::array_start && at == depth && is_inside) {
      take(name, std::move(value));
      return false;
    }
    return true;
  };
  const std::string quoted = quote_words(text);
  const auto rest = nlohmann::json::parse(quoted.empty() ? text : quoted, visit, false);
  if (rest.is_discarded()) return Error(Code::corrupt, "not JSON, or cut off");
  if (!has_object)
    return Error(Code::corrupt, key.empty() ? "no JSON object" : "no object " + quote(key) + " in it");
  return ok();
}

Result<> parse_items(std::string_view text, std::string_view key, const TakeMember& take_member,
                     const TakeItem& take_item) {
  constexpr std::size_t kMostExplained = 64 << 20;  // which is parsed once more, as a whole
  bool has_array = false, is_inside = false;
  std::string name;
  using Event = nlohmann::json::parse_event_t;
  const auto visit = [&](int at, Event event, nlohmann::json& value) {
    const bool is_begin = event == Event::object_start || event == Event::array_start;
    if (event == Event::key) {
      if (at == 1) name = value.get<std::string>();
    } else if (at == 1) {
      if (event == Event::value) take_member(name, std::move(value));
      is_inside = event == Event::array_start && name == key;
      has_array = has_array || is_inside;
      return is_begin;
    } else if (at == 2 && !is_begin) {
      if (is_inside) take_item(std::move(value));
      return false;
    }
    return true;
  };
  if (!nlohmann::json::parse(text, visit, false).is_discarded()) {
    if (has_array) return ok();
    return Error(Code::corrupt, "no array " + quote(key) + " in it");
  }
  if (text.size() <= kMostExplained)
    if (const auto document = JsonDocument::parse("", std::string(text)); !document)
      return Error(Code::corrupt, document.error().message().substr(1));  // without the colon
  return Error(Code::corrupt, "not JSON, or cut off");
}

std::string json_text(const nlohmann::json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

std::string json_text(const nlohmann::ordered_json& value, int indent) {
  return value.dump(indent, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

nlohmann::json parse_json(std::string_view text) { return nlohmann::json::parse(text, nullptr, false); }

nlohmann::ordered_json parse_ordered_json(std::string_view text) {
  return nlohmann::ordered_json::parse(text, nullptr, false);
}

Result<JsonDocument> JsonDocument::parse(std::string name, std::string text) {
  JsonDocument document(std::move(name), std::move(text));
  if (trim(document.text_).empty())
    return Error(Code::config, document.name_ + ":1:1: not JSON: the file is empty");
  try {
    document.root_ = nlohmann::json::parse(document.text_);
  } catch (const nlohmann::json::parse_error& error) {
    if (const std::string_view content = recognise_content(document.text_); !content.empty())
      return Error(Code::config, document.name_ + ":1:1: not JSON: the file is " + std::string(content));
    // "[json.exception.parse_error.101] parse error at line 1, column 2: syntax error while ..."
    std::string_view reason = error.what();
    if (const auto colon = reason.find(": "); colon != std::string_view::npos)
      reason.remove_prefix(colon + 2);
    const std::size_t offset = error.byte == 0 ? 0 : error.byte - 1;
    const bool expects_end = reason.ends_with("expected '}'") || reason.ends_with("expected ']'");
    const bool misses_comma = expects_end &&
                              reason.find("unexpected end of input") == std::string_view::npos &&
                              reason.find("invalid") == std::string_view::npos;
    return Error(Code::config, format_position(document.name_, document.text_, offset) +
                                   ": not JSON: " + std::string(reason) +
                                   (misses_comma ? "; is a comma missing before it?" : ""));
  } catch (const nlohmann::json::out_of_range& error) {
    // "[json.exception.out_of_range.406] number overflow parsing '1e999'": a number no double can hold, and
    // no word of where it is.
    const std::string_view reason = error.what();
    const std::size_t begin = std::min(reason.find('\''), reason.size() - 1) + 1;
    const std::string_view number = reason.substr(begin, reason.rfind('\'') - begin);
    const std::size_t offset = std::min(document.text_.find(number), document.text_.size());
    return Error(Code::config, format_position(document.name_, document.text_, offset) +
                                   ": not JSON: a number too large for a double");
  }
  // The parser ends at a zero byte and does not look at what follows.
  if (const std::size_t zero = document.text_.find('\0'); zero != std::string::npos)
    return Error(Code::config,
                 format_position(document.name_, document.text_, zero) + ": not JSON: a zero byte");
  return document;
}

std::vector<std::string> JsonDocument::find_repeated_keys(std::size_t most) const {
  struct Container {
    bool is_object = false, expects_key = false;
    std::set<std::string> keys;
  };
  std::vector<Container> open;
  std::vector<std::string> found;
  for (std::size_t at = 0; at < text_.size() && found.size() < most; ++at) {
    const char c = text_[at];
    if (c == '{' || c == '[') {
      open.push_back({c == '{', c == '{', {}});
    } else if (c == '}' || c == ']') {
      open.pop_back();
    } else if (c == ',') {
      open.back().expects_key = open.back().is_object;
    } else if (c == '"') {
      const std::string_view quoted = quoted_at(text_, at);
      if (!open.empty() && std::exchange(open.back().expects_key, false) &&
          !open.back().keys.insert(nlohmann::json::parse(quoted).get<std::string>()).second)
        found.push_back(format_position(name_, text_, at) + ": the key " + std::string(quoted.substr(0, 80)) +
                        " is repeated; the last one counts");
      at += quoted.size() - 1;
    }
  }
  return found;
}

std::string JsonDocument::where(std::string_view pointer) const {
  return format_position(name_, text_, find_place(text_, pointer).value);
}

std::string JsonDocument::where_key(std::string_view pointer) const {
  return format_position(name_, text_, find_place(text_, pointer).key);
}

Error JsonDocument::error(std::string_view pointer, std::string_view message) const {
  return {Code::config, where(pointer) + ": " + std::string(message)};
}

}  // namespace opdump
