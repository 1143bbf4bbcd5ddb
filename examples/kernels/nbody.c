/* SPDX-License-Identifier: MIT */
/* Bodies that attract each other. */
#include <headrace/dialect.h>

typedef struct place {
    float x, y, z, spare;
} place;

typedef struct motion {
    float x, y, z;
    float pull; /* the sum of all forces so far, without directions */
} motion;

typedef struct law {
    float mass, softening, step, damping;
} law;

/* A step of a body: the force, then its speed, then its place. */
HR_KERNEL4(nbody_step, (IN, place, 1, from), (OUT, place, 1, to),
           (INOUT, motion, 1, moves), (VALUE, law, 0, l))
{
    HR_EACH1(i)
    {
        const float x = HR_AT1(from, i).x, y = HR_AT1(from, i).y,
                    z = HR_AT1(from, i).z;
        float ax = 0.0f, ay = 0.0f, az = 0.0f, pull = 0.0f;
        for (hr_index j = 0; j < HR_EXTENT(from, 0); j++) {
            const float dx = HR_AT1(from, j).x - x, dy = HR_AT1(from, j).y - y,
                        dz = HR_AT1(from, j).z - z;
            const float square = dx * dx + dy * dy + dz * dz;
            const float soft = square + l.softening;
            const float f = l.mass / (soft * sqrt(soft));
            ax += f * dx;
            ay += f * dy;
            az += f * dz;
            pull += f * sqrt(square);
        }
        HR_AT1(moves, i).x = (HR_AT1(moves, i).x + ax * l.step) * l.damping;
        HR_AT1(moves, i).y = (HR_AT1(moves, i).y + ay * l.step) * l.damping;
        HR_AT1(moves, i).z = (HR_AT1(moves, i).z + az * l.step) * l.damping;
        HR_AT1(moves, i).pull += pull * l.step;
        HR_AT1(to, i).x = x + HR_AT1(moves, i).x * l.step;
        HR_AT1(to, i).y = y + HR_AT1(moves, i).y * l.step;
        HR_AT1(to, i).z = z + HR_AT1(moves, i).z * l.step;
        HR_AT1(to, i).spare = 0.0f;
    }
}
