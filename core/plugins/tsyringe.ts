/* The dependency container. The build bundles the package and what it needs into this file, instead of 34 files to load. */

import 'reflect-metadata';

export {
  type ClassProvider,
  container as processContainer,
  type DependencyContainer,
  inject as injectToken,
  injectable,
  Lifecycle,
} from 'tsyringe';
