// A plain table: columns as wide as their widest cell, numbers to the right.
#pragma once
#include <string>
#include <vector>

namespace coda::terminal {

class Table {
 public:
  struct Column {
    std::string head;
    bool right = false;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  std::string text(int indent = 0) const;  // lines without trailing blanks

 private:
  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace coda::terminal
