/*
 * The dependency container. The build bundles the package into this file, because loading its 34 files one by one takes
 * several times as long.
 */

export { type ClassProvider, container, type DependencyContainer, inject, injectable, Lifecycle } from 'tsyringe';
