/* SPDX-License-Identifier: MIT */
/* send_signal INT|TERM|KILL|TWICE PREFIX COMMAND...: run COMMAND, and 0.2 s
 * after a file whose name begins with PREFIX has appeared in this folder, send
 * it the signal (TWICE: INT two times). Print how it ended, and how long after
 * that: "status 1 after 0.123 s", or "finished before" when it was too quick.
 * The shell alone cannot do this: what it runs in the background ignores
 * SIGINT. */
#include <dirent.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void sleep_ms(long ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    nanosleep(&t, NULL);
}

static bool is_there(const char *prefix)
{
    bool there = false;
    DIR *folder = opendir(".");
    struct dirent *entry;
    while (folder != NULL && !there && (entry = readdir(folder)) != NULL) {
        there = strncmp(entry->d_name, prefix, strlen(prefix)) == 0;
    }
    if (folder != NULL) {
        closedir(folder);
    }
    return there;
}

/* False when the child ends before the time has come. */
static bool wait_for_moment(pid_t child, const char *prefix)
{
    while (!is_there(prefix)) {
        if (waitpid(child, NULL, WNOHANG) != 0) {
            return false;
        }
        sleep_ms(5);
    }
    sleep_ms(200);
    return waitpid(child, NULL, WNOHANG) == 0;
}

int main(int argc, char **argv)
{
    if (argc < 4) {
        return 2;
    }
    signal(SIGINT, SIG_DFL);
    signal(SIGTERM, SIG_DFL);
    pid_t child = fork();
    if (child == 0) {
        execvp(argv[3], argv + 3);
        _exit(127);
    }
    if (child < 0 || !wait_for_moment(child, argv[2])) {
        printf("finished before\n");
        return 0;
    }
    double start = now();
    kill(child, strcmp(argv[1], "TERM") == 0   ? SIGTERM
                : strcmp(argv[1], "KILL") == 0 ? SIGKILL
                                               : SIGINT);
    if (strcmp(argv[1], "TWICE") == 0) {
        sleep_ms(20);
        kill(child, SIGINT);
    }
    int status;
    waitpid(child, &status, 0);
    printf("status %d after %.3f s\n",
           WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status),
           now() - start);
    return 0;
}
