#include "coda/terminal/table.h"

#include <algorithm>

#include "coda/terminal/text_width.h"

namespace coda::terminal {

std::string Table::text(int indent) const {
  std::vector<std::string> heads;
  std::vector<size_t> widths;
  for (const Column& column : columns_) {
    heads.push_back(column.head);
    widths.push_back(text_width(column.head));
  }
  for (const auto& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], text_width(row[i]));
  }
  std::string result;
  const auto write = [&](const std::vector<std::string>& row) {
    std::string line(static_cast<size_t>(indent), ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string blanks(widths[i] - text_width(row[i]), ' ');
      line += columns_[i].right ? blanks + row[i] : row[i] + blanks;
      line += "  ";
    }
    line.erase(line.find_last_not_of(' ') + 1);
    result += line + "\n";
  };
  write(heads);
  for (const auto& row : rows_) write(row);
  return result;
}

}  // namespace coda::terminal
