#include <fcntl.h>
#include <unistd.h>

#include <csignal>

#include "coda/tools/command_line.h"

namespace {

// Else the first files that are opened would be stdin, stdout and stderr, and take what is printed.
void open_closed_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) < 0) open("/dev/null", O_RDWR);  // gets the lowest number: this one
  }
}

}  // namespace

int main(int argc, char** argv) {
  open_closed_streams();
  std::signal(SIGXFSZ, SIG_IGN);  // a file beyond `ulimit -f` is an error of writing
  return coda::tools::run_command_line(argc, argv);
}
